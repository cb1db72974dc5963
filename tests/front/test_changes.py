"""What people do to a job over HTTP; each verb may be repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noria.backends.contract import Altered, Change, Want, WorkerCard
from noria.cli.peer import Reply
from noria.cli.remote import RemoteSource
from noria.ids import from_text
from noria.model.state import State
from tests.support.door import Place, place


async def act(here: Place, id: str, verb: str, body: Any = None, status: int = 200) -> Any:
    answer = await here.ask("POST", f"/v1/jobs/{id}/{verb}", body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_job_that_has_not_begun_is_cancelled_at_once_and_again(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        first = await act(here, id, "cancel", {"reason": "not needed"})
        second = await act(here, id, "cancel")

        assert (first["state"], first["error"]["message"]) == ("cancelled", "not needed")
        assert second == first


async def test_a_running_job_is_cancelled_through_its_worker(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.hire(beat=0.1)
        id = await here.enqueue("nap", {"seconds": 60})
        while (await here.job(id))["state"] != "running":
            pass
        assert (await act(here, id, "cancel", {"wait": 10}))["state"] == "cancelled"


async def test_a_job_that_has_ended_first_keeps_its_outcome(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3])
        await here.ended(id)

        assert (await act(here, id, "cancel"))["state"] == "succeeded"


async def test_a_failed_job_is_tried_again_with_other_arguments(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("fail", {"why": "first"})
        await here.ended(id)
        again = await act(here, id, "retry", {"delay": 60, "attempts": 3, "args": {"why": "second"}})

        assert (again["state"], again["max_attempts"], again["args"]) == ("scheduled", 3, {"why": "second"})
        assert (await act(here, id, "retry", {"args": {"what": 1}}, 422))["errors"][0][
            "pointer"
        ] == "/args/what"


async def test_a_job_tells_how_it_ended_before_each_retry_and_with_which_arguments(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("fail", {"why": "first"})
        await here.ended(id)
        await act(here, id, "retry", {"args": {"why": "second"}, "reason": "a typo"})
        await here.ended(id)
        await act(here, id, "retry", {"delay": 60})
        told = await here.job(id, include="args,history")

    assert told["args"] == {"why": "second"}
    assert [each["number"] for each in told["history"]] == [1, 2]
    first, second = told["history"]
    assert (first["state"], first["edited"], first["args"], first["reason"]) == (
        "failed", True, {"why": "first"}, "a typo",
    )  # fmt: skip
    assert "first" in first["error"]["message"]
    assert (second["edited"], "args" in second) == (False, False)


async def test_a_job_that_succeeded_cannot_be_tried_again(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3])
        await here.ended(id)
        problem = await act(here, id, "retry", status=409)

        assert (problem["code"], problem["job_id"], problem["state"]) == ("wrong_state", id, "succeeded")


async def test_a_scheduled_job_is_run_now(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        assert (await act(here, id, "run"))["state"] == "queued"
        assert (await act(here, id, "run"))["state"] == "queued"


async def test_a_dead_letter_is_discarded_and_kept(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("fail")
        assert (await here.ended(id))["dead"] is True
        for _ in range(2):
            job = await act(here, id, "discard")
            assert (job["state"], job["dead"]) == ("failed", False)


async def test_what_is_kept_of_an_ended_job_is_erased(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        waiting = await here.enqueue("cube", [3], delay=600)
        ended = await here.enqueue("cube", [3])
        await here.ended(ended)

        refused = await here.ask("DELETE", f"/v1/jobs/{waiting}")
        assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state")
        erased = await here.ask("DELETE", f"/v1/jobs/{ended}")
        assert (erased.status_code, erased.text) == (204, "")
        assert (await here.ask("GET", f"/v1/jobs/{ended}")).status_code == 404


async def test_a_job_that_waits_is_edited(short_tmp: Path) -> None:
    change = {
        "priority": 5, "tags": ["vip"], "run_at": "2099-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z",
        "args": [4], "queue": "other",
    }  # fmt: skip
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        for _ in range(2):
            answer = await here.ask("PATCH", f"/v1/jobs/{id}", change)
            job = answer.json()
            assert answer.status_code == 200, job
            assert (job["priority"], job["tags"], job["queue"], job["args"]) == (
                5,
                ["vip"],
                "other",
                {"a": 4},
            )
            assert (job["run_at"][:4], job["expires_at"][:4], job["state"]) == ("2099", "2100", "scheduled")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({}, 422, "invalid_value"),
        ({"priority": 99}, 422, "invalid_value"),
        ({"state": "failed"}, 422, "unknown_field"),
        ({"args": {"b": 1}}, 422, "invalid_args"),
        ({"queue": "no no"}, 422, "invalid_value"),
        ({"run_at": None}, 422, "invalid_value"),
    ],
)
async def test_an_edit_that_makes_no_sense_changes_nothing(
    short_tmp: Path, change: Any, status: int, code: str
) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        before = await here.job(id)
        answer = await here.ask("PATCH", f"/v1/jobs/{id}", change)

        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert await here.job(id) == before


async def test_a_job_that_has_ended_is_not_edited(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3])
        await here.ended(id)
        answer = await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 1})

        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")


@pytest.mark.parametrize("change", [{"args": {"why": "other"}}, {"args": {"why": "x"}, "priority": 3}])
async def test_arguments_are_what_they_were_once_a_job_has_begun(short_tmp: Path, change: Any) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("fail", {"why": "first"})
        await here.ended(id)
        await act(here, id, "retry", {"delay": 600})
        before = await here.job(id)
        assert before["state"] in ("scheduled", "retrying") and before["starts"] == 1
        answer = await here.ask("PATCH", f"/v1/jobs/{id}", change)

        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")
        assert await here.job(id) == before
        assert (await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 3})).status_code == 200


async def test_a_copy_names_the_job_it_was_made_of(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3], tags=["vip"], correlation_id="req", attempts=2, priority=4)
        await here.ended(id)
        copy = await act(here, id, "copy", status=201)
        other = await act(here, id, "copy", {"args": {"a": 4}, "queue": "elsewhere"}, 201)

        assert copy["copy_of"] == other["copy_of"] == id
        assert (copy["tags"], copy["correlation_id"]) == (["vip"], "req")
        assert (copy["max_attempts"], copy["priority"]) == (2, 4)
        assert (await here.ended(copy["id"]))["result"] == 27
        assert (other["queue"], (await here.job(other["id"]))["args"]) == ("elsewhere", {"a": 4})


class Near:
    """A front as a command asks it, without a network."""

    def __init__(self, here: Place) -> None:
        self._here = here

    async def ask(self, method: str, path: str, *, body: Any = None, **_: Any) -> Reply:
        answer = await self._here.ask(method, path, body)
        return Reply(answer.status_code, dict(answer.headers), answer.content)


async def test_what_a_change_has_done_is_told_though_the_job_goes_on_at_once(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        await here.ask("POST", f"/v1/jobs/{id}/cancel")
        store = here.app.backend
        alter = store.alter

        async def overtaken(ids: Any, change: Change) -> Any:
            """Somebody else changes the job before it is read."""
            told = await alter(ids, change)
            await alter(ids, Change(kind="cancel"))
            return told

        monkeypatch.setattr(store, "alter", overtaken)
        answer = await here.ask("POST", f"/v1/jobs/{id}/retry")
        [told] = await RemoteSource(Near(here)).alter([from_text(id)], "retry")

    assert (answer.headers["noria-state"], answer.json()["state"]) == ("queued", "cancelled")
    assert told == Altered("done", State.QUEUED), "as a store tells it"


async def test_a_job_that_runs_shows_since_when_it_is_to_end(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        card = WorkerCard(worker="w", host="h", pid=1, queues=("default",), tasks=("cube",), ttl=60.0)
        session = await here.app.backend.open(card)
        id = await here.enqueue("cube", [3])
        await here.app.backend.lease(session, [Want("default", now=1)], 1, 0.0)
        before = await here.job(id)
        first = await act(here, id, "cancel")
        again = await act(here, id, "cancel")
        why = (await here.ask("GET", f"/v1/jobs/{id}/explain")).json()["explain"]

    assert (before["cancelling"], before["cancelling_since"]) == (False, None)
    assert first["cancelling"] and first["cancelling_since"] >= first["started_at"]
    assert again["cancelling_since"] == first["cancelling_since"]
    assert f"; its worker was told {first['cancelling_since'][:10]}" in why


async def test_a_cancel_that_is_to_be_forced_is_refused(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        refused = await act(here, id, "cancel", {"force": True}, 422)

    assert refused["code"] == "unknown_field"
