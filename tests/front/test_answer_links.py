"""Links by which a person answers one question without a key: the form, its answers, and what else a link opens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import msgspec
import pytest

from noria import Context, Noria, QuestionExpired, QuestionStatus
from tests.support.door import MASTER, Place, bearer, place

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
NAVIGATION = {**BROWSER, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
SUBMISSION = {**BROWSER, "origin": "null", "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
"""What a browser sends with a form of a page that has `Referrer-Policy: no-referrer`."""


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Order:
    """All that a form can ask for."""

    name: Annotated[str, msgspec.Meta(min_length=2, description="As on the parcel.")]
    size: Size
    count: Annotated[int, msgspec.Meta(ge=1, le=9)]
    weight: float
    gift: bool
    colour: Literal["red", "blue", 3] = "red"
    extras: list[Literal["bow", "card"]] = field(default_factory=list)
    note: str | None = None


def tasks(app: Noria) -> None:
    """Tasks that ask."""

    @app.task(attempts=1)
    async def login(ctx: Context) -> str:
        return await ctx.ask("The code?", schema=Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$")])

    @app.task(attempts=1)
    async def order(ctx: Context) -> Order:
        return await ctx.ask("What shall it be?", schema=Order)

    @app.task(attempts=1)
    async def password(ctx: Context) -> int:
        return len(await ctx.ask("Password?", secret=True, schema=Annotated[str, msgspec.Meta(min_length=4)]))

    @app.task(attempts=1)
    async def hurry(ctx: Context) -> str:
        try:
            return await ctx.ask("Quick!", timeout=0.5)
        except QuestionExpired:
            return "too late"

    @app.task(attempts=1)
    async def hostile(ctx: Context) -> str:
        evil = "</p><script>alert(1)</script>\u202e\" onload='x'"
        return await ctx.ask(
            evil, schema=Annotated[str, msgspec.Meta(title=evil, description=evil, examples=[evil])]
        )


async def asked(here: Place, task: str, headers: Mapping[str, str] | None = None) -> Any:
    """The question of a new job."""
    answer = await here.ask("POST", "/v1/jobs?wait=20", {"task": task}, headers=headers)
    assert answer.json()["state"] == "asking", answer.text
    return answer.json()["question"]


async def look(here: Place, url: str) -> httpx.Response:
    """Open a link as a browser does that comes from a mail."""
    return await here.ask("GET", url, headers=NAVIGATION)


async def send(
    here: Place, url: str, fields: Mapping[str, Any], headers: Mapping[str, str] = SUBMISSION
) -> httpx.Response:
    """Send the form, as a browser does."""
    return await here.client.post(url, data={":action": "accept", **fields}, headers=headers)


class Controls(HTMLParser):
    """The controls of a page, by name; each with what is said of it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[dict[str, str | None]]] = {}
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.labels: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a control."""
        said = dict(attrs)
        self.tags.append(tag)
        self.ids |= {said["id"] or ""} if "id" in said else set()
        if tag == "label" and "for" in said:
            self.labels.add(said["for"] or "")
        if tag in ("input", "button"):
            self.found.setdefault(said["name"] or "", []).append(said)


# ---- the link


async def test_a_link_shows_a_form_and_what_it_sends_lets_the_job_go_on(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, api_key=MASTER, worker=True) as here:
        question = await asked(here, "login", bearer(MASTER))
        url = question["answer_url"]

        page = await look(here, url)
        sent = await send(here, url, {"value": "120964"})

        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "The code?" in page.text and question["job_id"] not in page.text
        assert (sent.status_code, "120964" in sent.text) == (200, True)
        job = (await here.ask("GET", f"/v1/jobs/{question['job_id']}?wait=20", headers=bearer(MASTER))).json()
        assert job["result"] == "120964"
        closed = (await here.ask("GET", question["links"]["self"], headers=bearer(MASTER))).json()
        assert (closed["state"], closed["answered_by"], closed["answer_url"]) == ("answered", "link", None)


async def test_to_look_at_a_link_answers_nothing(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "login")
        for method in ("GET", "HEAD", "GET"):
            await here.ask(
                method,
                question["answer_url"] + "?:action=accept&value=120964&utm_source=mail",
                headers=NAVIGATION,
            )

        assert (await here.ask("GET", question["links"]["self"])).json()["state"] == "open"


async def test_a_program_answers_by_link_in_json(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, api_key=MASTER, worker=True) as here:
        question = await asked(here, "login", bearer(MASTER))
        url = question["answer_url"]

        shown = await here.ask("GET", url)
        wrong = await here.ask("POST", url, {"action": "accept", "data": "12"})
        form = await here.client.post(url, data={"value": "13"})
        taken = await here.ask("POST", url, {"action": "accept", "data": "120964"})

        assert shown.json() == {
            key: question[key] for key in ("id", "name", "message", "schema", "secret", "state", "expires_at")
        }
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_answer")
        assert (form.status_code, form.json()["code"]) == (422, "invalid_answer")
        assert (taken.json()["state"], taken.json()["answer"]) == ("answered", "120964")


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        ("text/html", True), ("application/json;q=0.5, TEXT/HTML", True), ("text/html, */*;q=0.1", True),
        ("application/json, text/html;q=0.9", False), ("text/html;q=0, application/json", False), ("*/*", False),
        ("", False), ("text/html;q=x", True),
    ],
)  # fmt: skip
async def test_who_wants_a_page_gets_one_and_who_does_not_gets_json(
    short_tmp: Path, accept: str, page: bool
) -> None:
    async with place(short_tmp, tasks) as here:
        answer = await here.ask("GET", "/answer/x", headers={"accept": accept})

        assert (answer.status_code, answer.headers["content-type"].startswith("text/html")) == (404, page)


async def test_a_link_is_told_to_those_who_may_answer_and_to_nobody_else(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, api_key=MASTER, worker=True) as here:
        reader = await here.key("jobs:read", "jobs:enqueue")
        inbox = await here.key("questions:answer")
        question = await asked(here, "login", reader)
        read = (await here.ask("GET", question["links"]["job"], headers=reader)).json()
        events = (await here.ask("GET", question["links"]["job"] + "/events", headers=reader)).text
        listed = (await here.ask("GET", "/v1/questions", headers=inbox)).json()["items"]

        assert question["answer_url"] is None and read["question"]["answer_url"] is None
        assert "/answer/" not in events
        assert (await look(here, listed[0]["answer_url"])).status_code == 200


async def test_a_link_begins_with_the_address_that_was_set_else_where_the_front_is_mounted(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        mounted = httpx.AsyncClient(
            transport=httpx.ASGITransport(here.front, root_path="/jobs"), base_url="http://localhost"
        )
        async with mounted:
            await asked(here, "login")
            [question] = (await mounted.get("/jobs/v1/questions")).json()["items"]
            assert question["answer_url"].startswith("/jobs/answer/")
            assert (await mounted.get(question["answer_url"])).status_code == 200
    monkeypatch.setenv("NORIA_PUBLIC_URL", "https://jobs.example.com/n/")
    async with place(short_tmp, tasks) as here:
        [question] = (await here.ask("GET", "/v1/questions")).json()["items"] or [{"answer_url": None}]
        if question["answer_url"] is not None:
            assert question["answer_url"].startswith("https://jobs.example.com/n/answer/")


async def test_the_handler_is_told_the_link_once_its_question_is_open(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_PUBLIC_URL", "https://jobs.example.com")
    texts: list[QuestionStatus] = []

    def shop(app: Noria) -> None:
        @app.task(attempts=1)
        async def login(ctx: Context) -> str:
            async def text(question: QuestionStatus) -> None:
                texts.append(await app.questions.get(question.id))
                assert texts[-1].answer_url == question.answer_url

            return await ctx.ask("The code?", notify=text)

    async with place(short_tmp, shop, worker=True) as here:
        question = await asked(here, "login")
        async with here.patience():
            while not texts:
                await here.breathe()
        [told] = texts

        assert (told.id, told.state, told.answer_url) == (question["id"], "open", question["answer_url"])
        assert told.answer_url.startswith("https://jobs.example.com/answer/")
        path = told.answer_url.removeprefix("https://jobs.example.com")
        assert (await send(here, path, {"value": "yes"})).status_code == 200
        assert (await here.ended(question["job_id"]))["result"] == "yes"


async def test_a_front_without_the_role_has_no_links_and_tells_none(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, expose=("jobs",), worker=True) as here:
        question = await asked(here, "login")

        assert question["answer_url"] is None
        assert (await here.ask("GET", "/answer/" + "A" * 43)).json()["code"] == "not_found"


# ---- the form


async def test_a_form_has_a_control_for_each_field_and_each_has_a_label(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        page = Controls((await look(here, (await asked(here, "order"))["answer_url"])).text)

        kinds = {name: {said.get("type") for said in found} for name, found in page.found.items()}
        assert kinds == {
            "name": {"text"}, "size": {"radio"}, "count": {"number"}, "weight": {"number"}, "gift": {"radio"},
            "colour": {"radio"}, "extras": {"checkbox"}, "note": {"text"}, ":action": {None},
        }  # fmt: skip
        typed = [
            said for found in page.found.values() for said in found if said.get("type") in ("text", "number")
        ]
        assert {said["id"] for said in typed} == page.labels
        assert {said["value"] for said in page.found["size"]} == {"l", "s"}
        assert [said["value"] for said in page.found["colour"] if "checked" in said] == ["red"]
        assert "required" in page.found["name"][0] and "required" not in page.found["note"][0]
        for said in typed:
            assert set((said.get("aria-describedby") or "").split()) <= page.ids


async def test_what_a_form_sends_becomes_typed_values(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "order")
        fields = {
            "name": "Ann", "size": "l", "count": " 07", "weight": "1.50", "gift": "true", "colour": "3",
            "extras": ["bow", "card"], "note": "",
        }  # fmt: skip

        sent = await send(here, question["answer_url"], fields)

        assert sent.status_code == 200, sent.text
        answer = (await here.ask("GET", question["links"]["self"])).json()["answer"]
        assert answer == {
            "name": "Ann", "size": "l", "count": 7, "weight": 1.5, "gift": True, "colour": 3, "extras": ["bow", "card"],
        }  # fmt: skip
        assert (await here.ended(question["job_id"]))["state"] == "succeeded"
        assert all(text in sent.text for text in ("Ann", "1.5", "Yes", "bow, card"))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"name": "A"}, "name"), ({"name": ""}, "name"), ({"size": "xl"}, "size"), ({"count": "10"}, "count"),
        ({"count": "1.5"}, "count"), ({"count": "9" * 5_000}, "count"), ({"weight": "heavy"}, "weight"),
        ({"weight": "1e999"}, "weight"), ({"weight": "nan"}, "weight"), ({"gift": "maybe"}, "gift"),
        ({"extras": "ribbon"}, "extras"), ({"colour": "green"}, "colour"),
    ],
)  # fmt: skip
async def test_the_field_that_is_wrong_is_marked_and_the_others_keep_what_was_typed(
    short_tmp: Path, change: dict[str, str], name: str
) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "order")
        good = {"name": "Ann<b>", "size": "l", "count": "7", "weight": "1", "gift": "false"}

        sent = await send(here, question["answer_url"], {**good, **change})

        assert sent.status_code == 422
        marked = re.findall(r'<(?:input|fieldset)[^>]*aria-invalid="true"[^>]*>', sent.text)
        assert len(marked) == 1 and 'role="alert"' in sent.text
        if name not in ("size", "gift", "extras", "colour"):
            assert f'name="{name}"' in marked[0]
        if name != "name":
            assert Controls(sent.text).found["name"][0]["value"] == "Ann<b>"
        assert (await here.ask("GET", question["links"]["self"])).json()["state"] == "open"


async def test_a_field_that_nobody_asked_for_is_refused(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "order")
        good = {"name": "Ann", "size": "l", "count": "7", "weight": "1", "gift": "false"}

        sent = await send(here, question["answer_url"], {**good, "admin": "<i>"})

        assert sent.status_code == 422 and "admin is not asked for" in sent.text and "<i>" not in sent.text


async def test_a_person_declines_with_the_other_button(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "order")

        sent = await send(here, question["answer_url"], {":action": "decline"})

        assert sent.status_code == 200 and "Declined" in sent.text
        assert (await here.ended(question["job_id"]))["error"]["type"] == "noria.errors.QuestionDeclined"


async def test_a_secret_answer_is_hidden_where_it_is_typed_and_shown_nowhere(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        url = (await asked(here, "password"))["answer_url"]

        [control] = Controls((await look(here, url)).text).found["value"]
        wrong = await send(here, url, {"value": "h1d"})
        right = await send(here, url, {"value": "hidden-word"})
        late = await look(here, url)

        assert control["type"] == "password"
        assert (wrong.status_code, right.status_code) == (422, 200)
        assert not [
            text for text in (wrong.text, right.text, late.text) if "h1d" in text or "hidden-word" in text
        ]


# ---- what a link opens no more


async def test_each_way_in_which_a_question_is_over_has_a_page_and_a_code_of_its_own(short_tmp: Path) -> None:
    async with place(short_tmp, tasks) as here:
        first = await here.hire(name="first")
        answered, declined, put_away, late, cancelled, anew = [
            await asked(here, task) for task in ("login", "login", "login", "hurry", "login", "login")
        ]
        await send(here, answered["answer_url"], {"value": "120964"})
        await send(here, declined["answer_url"], {":action": "decline"})
        await here.ask("POST", put_away["links"]["answer"], {"action": "cancel"})
        await here.ended(late["job_id"])
        await here.ask("POST", f"/v1/jobs/{cancelled['job_id']}/cancel", {"wait": 20})
        await here.ended(cancelled["job_id"])
        first.drain(now=True)
        await here.hire(name="second")
        async with here.patience():
            while (await here.job(anew["job_id"])).get("question_id") in (None, anew["id"]):
                await here.breathe()

        for question, status, code, title in (
            (answered, 409, "already_answered", "Answered already"),
            (declined, 409, "already_answered", "Declined already"),
            (put_away, 409, "already_answered", "Put away"),
            (late, 410, "question_expired", "Too late"),
            (cancelled, 409, "wrong_state", "Not needed any more"),
            (anew, 410, "question_superseded", "Asked anew"),
        ):
            url = question["answer_url"]
            for page in (await look(here, url), await send(here, url, {"value": "111111"})):
                assert (page.status_code, f"<h1>{title}</h1>" in page.text) == (status, True), page.text
                assert "120964" not in page.text and "<form" not in page.text
            for told in (
                await here.ask("GET", url),
                await here.ask("POST", url, {"action": "accept", "data": "111111"}),
            ):
                assert (told.status_code, told.json()["code"]) == (status, code), told.text


async def test_the_same_answer_sent_twice_is_taken_for_one(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        url = (await asked(here, "login"))["answer_url"]

        pages = [await send(here, url, {"value": "120964"}) for _ in range(2)]

        assert [page.status_code for page in pages] == [200, 200]


async def test_an_answer_that_takes_for_ever_to_compare_holds_up_no_other_request(short_tmp: Path) -> None:
    """Whoever has the link is a stranger: the comparison runs, and ends, in a process of its own."""
    async with place(short_tmp) as here:

        @here.app.task(queue="slow")
        async def wonder(ctx: Context) -> str:
            return await ctx.ask("?", schema=Annotated[str, msgspec.Meta(pattern="^(a+)+$")])

        await here.hire(queues=("slow",))
        job = await wonder.enqueue()
        async with here.patience():
            while (question := await job.question()) is None:
                await here.breathe()
        url = (await here.ask("GET", f"/v1/questions/{question.id}")).json()["answer_url"]

        slow = asyncio.ensure_future(here.ask("POST", url, {"action": "accept", "data": "a" * 40 + "!"}))
        live = [(await here.ask("GET", "/livez")).status_code for _ in range(20) if not slow.done()]
        refused = await slow

    assert live == [200] * 20
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_answer")
    assert "too long" in refused.json()["detail"]
