"""Rows 12 and 13: what jobs ask, listed and answered over HTTP."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import msgspec
import pytest

from noria import Context, Noria, QuestionExpired
from tests.support.door import MASTER, Place, bearer, place

NOBODY = "01a22c52-24f3-77d5-802a-6309c183da88"


@dataclass
class Form:
    code: Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$")]
    remember: bool = False


def tasks(app: Noria) -> None:
    """Tasks that ask."""

    @app.task(attempts=1)
    async def login(ctx: Context, phone: str = "555") -> Any:
        return await ctx.ask(f"Code sent to {phone}", schema=Form, name="code")

    @app.task(attempts=1)
    async def password(ctx: Context) -> int:
        return len(await ctx.ask("Password?", secret=True))

    @app.task(attempts=1, queue="other")
    async def choose(ctx: Context) -> str:
        return await ctx.ask("Which?", schema=Literal["red", "blue"])

    @app.task(attempts=1)
    async def hurry(ctx: Context) -> str:
        try:
            return await ctx.ask("Quick!", timeout=1.0)
        except QuestionExpired:
            return "too late"


async def asked(here: Place, task: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """The question of a new job."""
    answer = await here.ask("POST", "/v1/jobs?wait=20", {"task": task, **more}, headers=headers)
    assert (answer.status_code, answer.json()["state"]) == (200, "asking"), answer.text
    return answer.json()["question"]


async def say(here: Place, question: Any, body: Any, **more: Any) -> httpx.Response:
    """Answer a question."""
    return await here.ask("POST", f"/v1/questions/{question['id']}/answer", body, **more)


def accept(data: Any) -> dict[str, Any]:
    return {"action": "accept", "data": data}


async def test_a_request_that_waits_is_answered_with_the_question(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        answer = await here.ask("POST", "/v1/jobs?wait=20", {"task": "login", "args": {"phone": "777"}})

        job = answer.json()
        assert (answer.status_code, job["state"], job["final"]) == (200, "asking", False)
        question = job["question"]
        assert question["id"] == job["question_id"]
        assert (question["message"], question["name"], question["state"]) == (
            "Code sent to 777",
            "code",
            "open",
        )
        assert question["schema"]["properties"]["code"]["pattern"] == "^[0-9]{6}$"
        assert question["links"]["job"] == job["links"]["self"]


async def test_an_answer_lets_the_job_go_on_and_is_taken_once(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "login")
        given = accept({"code": "120964"})

        first = await say(here, question, given)
        again = await say(here, question, given)
        ended = await here.ended(question["job_id"])
        late = await say(here, question, given)
        other = await say(here, question, accept({"code": "999999"}))
        declined = await say(here, question, {"action": "decline"})

        assert [each.status_code for each in (first, again, late)] == [200, 200, 200], first.text
        assert {each.json()["state"] for each in (first, again, late)} == {"answered"}
        assert first.json()["answer"] == {"code": "120964"} and first.json()["answered_by"] == "open"
        assert ended["result"]["code"] == "120964"
        assert (other.status_code, other.json()["code"], other.json()["state"]) == (
            409, "already_answered", "answered"
        )  # fmt: skip
        assert (declined.status_code, declined.json()["code"]) == (409, "already_answered")


@pytest.mark.parametrize(("action", "state"), [("decline", "declined"), ("cancel", "cancelled")])
async def test_who_will_not_answer_says_so(short_tmp: Path, action: str, state: str) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "choose")

        answer = await say(here, question, {"action": action})
        ended = await here.ended(question["job_id"])

        assert (answer.status_code, answer.json()["state"]) == (200, state)
        assert "answer" not in answer.json()
        assert (ended["state"], ended["error"]["type"]) == ("failed", "noria.errors.QuestionDeclined")
        assert (await say(here, question, {"action": action})).status_code == 200
        other = (await say(here, question, accept("red"))).json()
        assert (other["code"], other["state"]) == ("already_answered", state)


@pytest.mark.parametrize(
    ("task", "body", "code", "pointers"),
    [
        ("login", accept({"code": "12"}), "invalid_answer", ["/data/code"]),
        (
            "login",
            accept({"remember": 1, "x": 2}),
            "invalid_answer",
            ["/data/code", "/data/remember", "/data/x"],
        ),
        ("login", accept("120964"), "invalid_answer", ["/data"]),
        ("choose", accept("green"), "invalid_answer", ["/data"]),
        ("choose", accept(None), "invalid_answer", ["/data"]),
        ("choose", accept("x" * 70_000), "invalid_answer", ["/data"]),
        ("choose", {"action": "accept"}, "invalid_value", ["/data"]),
        ("choose", {"action": "decline", "data": "red"}, "invalid_value", ["/data"]),
        ("choose", {"action": "perhaps"}, "invalid_value", ["/action"]),
        ("choose", {}, "invalid_value", ["/action"]),
        ("choose", {**accept("red"), "by": "me"}, "unknown_field", ["/by"]),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_place_and_the_question_stays_open(
    short_tmp: Path, task: str, body: Any, code: str, pointers: list[str]
) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, task)

        answer = await say(here, question, body)

        assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
        assert sorted(each["pointer"] for each in answer.json()["errors"]) == pointers
        assert (await here.ask("GET", question["links"]["self"])).json()["state"] == "open"


async def test_nobody_answers_after_the_deadline(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "hurry")
        assert (await here.ended(question["job_id"]))["result"] == "too late"

        answer = await say(here, question, accept("here"))

        assert (answer.status_code, answer.json()["code"]) == (410, "question_expired")
        assert (await here.ask("GET", question["links"]["self"])).json()["state"] == "expired"


async def test_an_answer_to_a_start_that_is_over_is_told_which_question_stands_in_its_place(
    short_tmp: Path,
) -> None:
    async with place(short_tmp, tasks) as here:
        first = await here.hire(name="first")
        question = await asked(here, "login")
        first.drain(now=True)
        await here.hire(name="second")
        async with here.patience():
            while (new := (await here.job(question["job_id"])).get("question_id")) in (None, question["id"]):
                await here.breathe()

        answer = await say(here, question, accept({"code": "120964"}))

        assert (answer.status_code, answer.json()["code"]) == (410, "question_superseded"), answer.text
        assert answer.json()["following"] == new
        successor = (await here.ask("GET", f"/v1/questions/{new}")).json()
        assert (successor["state"], successor["supersedes"]) == ("open", question["id"])
        assert (await say(here, successor, accept({"code": "120964"}))).status_code == 200
        assert (await here.ended(question["job_id"]))["state"] == "succeeded"


async def test_an_answer_to_a_job_that_was_cancelled_comes_too_late(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "choose")
        await here.ask("POST", f"/v1/jobs/{question['job_id']}/cancel", {"wait": 20})
        await here.ended(question["job_id"])

        answer = await say(here, question, accept("red"))

        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state"), answer.text
        assert (await here.ask("GET", question["links"]["self"])).json()["state"] == "withdrawn"
        assert (await here.ask("GET", "/v1/questions")).json()["items"] == []


@pytest.mark.parametrize("id", [NOBODY, "x", "%00"])
async def test_a_question_that_is_none_is_404(short_tmp: Path, id: str) -> None:
    async with place(short_tmp, tasks) as here:
        for method, path, body in (
            ("GET", f"/v1/questions/{id}", None), ("POST", f"/v1/questions/{id}/answer", accept(1))
        ):  # fmt: skip
            answer = await here.ask(method, path, body)
            assert (answer.status_code, answer.json()["code"]) == (404, "question_not_found")


# ---- the inbox


async def test_open_questions_are_listed_oldest_first_page_by_page(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        asked_ones = [await asked(here, task) for task in ("login", "choose", "login", "password")]
        await say(here, asked_ones[0], accept({"code": "120964"}))
        await here.ended(asked_ones[0]["job_id"])
        ids = [each["id"] for each in asked_ones[1:]]

        first = (await here.ask("GET", "/v1/questions?limit=2")).json()
        rest = (await here.ask("GET", "/v1/questions", params={"limit": 2, "cursor": first["next"]})).json()

        assert [each["id"] for each in first["items"] + rest["items"]] == ids and rest["next"] is None
        for name, value, found in (
            ("task", "login", ids[1:2]), ("queue", "other", ids[:1]), ("job_id", asked_ones[3]["job_id"], ids[2:]),
            ("task", "nothing", []),
        ):  # fmt: skip
            page = (await here.ask("GET", "/v1/questions", params={name: value})).json()
            assert [each["id"] for each in page["items"]] == found, name
        wrong = await here.ask("GET", "/v1/questions", params={"task": "login", "cursor": first["next"]})
        assert wrong.json()["code"] == "bad_cursor"
        assert (await here.ask("GET", "/v1/questions?state=open")).json()["code"] == "unknown_parameter"


async def test_a_key_sees_and_answers_what_jobs_of_its_own_ask(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, api_key=MASTER, worker=True) as here:
        ours = await asked(here, "login", bearer(MASTER))
        theirs = await asked(here, "choose", bearer(MASTER))
        holder = await here.key("questions:answer", queues=["default"], tasks=["login"])

        listed = (await here.ask("GET", "/v1/questions", headers=holder)).json()["items"]
        foreign = await say(here, theirs, accept("red"), headers=holder)
        nobody = await say(here, {"id": NOBODY}, accept("red"), headers=holder)
        answered = await say(here, ours, accept({"code": "120964"}), headers=holder)

        assert [each["id"] for each in listed] == [ours["id"]]
        assert (foreign.status_code, foreign.json()["code"]) == (404, "question_not_found")
        assert foreign.json()["detail"].replace(theirs["id"], NOBODY) == nobody.json()["detail"]
        assert (await here.ask("GET", theirs["links"]["self"], headers=holder)).status_code == 404
        assert (answered.status_code, answered.json()["answered_by"]) == (
            200, holder["authorization"].split("_")[1]
        )  # fmt: skip


async def test_a_secret_answer_is_shown_and_logged_nowhere(
    short_tmp: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "password")
        texts = [
            (await say(here, question, accept(["the-hidden-word"]))).text,
            (await say(here, question, accept("the-hidden-word"))).text,
        ]
        ended = await here.ended(question["job_id"])
        path = f"/v1/jobs/{question['job_id']}"
        texts += [
            (await say(here, question, accept("the-hidden-word"))).text,
            (await here.ask("GET", question["links"]["self"])).text,
            (await here.ask("GET", path, params={"include": "args,result,attempts"})).text,
            (await here.ask("GET", f"{path}/events")).text,
        ]

        assert ended["result"] == len("the-hidden-word")
        assert [text for text in texts if "hidden" in text] == []
    said = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert "hidden" not in said


# ---- replies and events


async def test_a_job_that_is_read_alone_brings_its_question_and_a_list_its_id(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "choose")
        job = await here.job(question["job_id"])
        [listed] = (await here.ask("GET", "/v1/jobs?state=asking")).json()["items"]
        result = await here.ask("GET", f"/v1/jobs/{question['job_id']}/result")

        assert job["question"] == question
        assert listed["question_id"] == question["id"] and "question" not in listed
        assert (result.json()["code"], result.json()["state"]) == ("not_finished", "asking")
        await say(here, question, accept("red"))
        ended = await here.ended(question["job_id"])
        assert "question" not in ended and ended["question_id"] is None


async def test_a_call_is_answered_with_the_job_that_asks(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        answer = await here.ask("POST", "/v1/call/choose", {})

        assert (answer.status_code, answer.json()["state"]) == (202, "asking")
        assert answer.headers["location"] == answer.json()["links"]["self"]
        assert answer.json()["question"]["message"] == "Which?"


async def test_who_reads_a_job_that_asks_waits_for_what_comes_next(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "choose")
        waits = asyncio.ensure_future(here.job(question["job_id"], wait=20))
        async with here.patience():
            while not here.front.desk.waiting.count:
                await here.breathe()
        await say(here, question, accept("blue"))

        assert (await waits)["result"] == "blue"


async def test_events_tell_that_a_job_asks_and_what(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "choose")
        page = (await here.ask("GET", f"/v1/jobs/{question['job_id']}/events")).json()
        said = asyncio.ensure_future(
            here.client.get(f"/v1/jobs/{question['job_id']}/events", headers={"accept": "text/event-stream"})
        )
        async with here.patience():
            while not here.front.desk.streams.count:
                await here.breathe()
        await say(here, question, accept("blue"))
        stream = (await said).text

        assert page["items"][-1]["data"]["question"] == question
        assert '"state":"asking"' in stream and '"message":"Which?"' in stream
        assert '"result":"blue"' in stream
