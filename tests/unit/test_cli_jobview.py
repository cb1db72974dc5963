"""The story of a job has everything in it, own code first, and nothing that a terminal obeys."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noria import ids
from noria.backends.contract import Counts, Paused, QueueCounts, QueueLimits
from noria.cli import jobview, queues
from noria.cli.flags import Flags
from noria.cli.kin import grouped
from noria.cli.output import Output, to_json
from noria.cli.traces import own_frame
from noria.front.resources import job_resource, queue_resource, summary
from noria.ids import Id
from noria.model.fingerprint import fingerprint
from noria.model.job import Extras, Record, Start
from noria.model.outcome import Failure, Outcome, Tally
from noria.model.past import Life
from noria.model.state import State

NOW = 1_000_100.0
TRACE = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 12, in send
    deliver(order)
  File "/srv/shop/mail.py", line 40, in deliver
    smtp.send(order)
  File "/usr/lib/python3.11/smtplib.py", line 9, in send
    raise OSError("no route")
OSError: no route
"""
FAILURE = Failure("exception", "no route to \x1b[31m10.0.0.7", "builtins.OSError", TRACE)


def record(**given: Any) -> Record:
    fields: dict[str, Any] = {
        "id": Id(bytes(range(16))), "task": "send", "queue": "mail", "state": State.QUEUED, "version": 1,
        "dead": False, "priority": 0, "created": 1_000_000.0, "due": 1_000_000.0, "began": None, "finished": None,
        "expires": None, "deadline": None, "session": 0, "worker": "", "starts": 0, "tally": Tally(0, 5, 0, 3),
        "unique": None, "keep": None, "cancelling": False, "failure": None, "extras": Extras(), "codec": "json",
    }  # fmt: skip
    return Record(**{**fields, **given})


FAILED = record(
    state=State.FAILED, dead=True, began=1_000_003.0, finished=1_000_004.0, starts=2, tally=Tally(2, 2, 0, 3),
    failure=FAILURE, worker="w1", body=b'{"to":"a@b.c"}', extras=Extras(tags=("vip",), correlation_id="r5"),
    log=(
        Start(1, Outcome.TIMED_OUT, 1_000_000.5, 1_000_002.0, "w1", Failure("timeout", "too slow")),
        Start(2, Outcome.FAILED, 1_000_003.0, 1_000_003.25, "w2", FAILURE),
    ),
)  # fmt: skip


def test_a_retried_job_tells_how_it_had_ended_and_what_it_lost() -> None:
    lives = (
        Life(3, State.FAILED, 1_000_010.0, 2, FAILURE, "a typo\x1b", True, b'{"to":"x"}'),
        Life(4, State.CANCELLED, 1_000_020.0, 2, None, "", True, None),
        Life(5, State.EXPIRED, 1_000_030.0, 2),
    )
    told = story(record(past=lives))

    assert "retried 5 times" in told
    assert "after it had failed: " in told
    assert "no route" in told
    assert 'with other arguments than {"to":"x"}' in told
    assert "after it had been cancelled" in told
    assert "the old ones were too large to keep" in told
    assert "after it had expired" in told
    assert "\x1b" not in told


def story(job: Record) -> str:
    return "\n".join(jobview.story(job, NOW, "failed because"))


def test_a_failed_job_tells_everything() -> None:
    text = story(FAILED)
    for part in (
        ids.to_text(FAILED.id), "failed because", "2 of 2", "vip", "r5", '"to": "a@b.c"',
        "start 1 on w1 timed_out: too slow", "start 2 on w2 failed", "250 ms", "/srv/shop/mail.py:40 in deliver",
        "smtp.send(order)", "noria jobs retry", "noria jobs discard",
    ):  # fmt: skip
        assert part in text, part
    assert "noria jobs cancel" not in text
    assert text.index("mail.py:40") < text.index("Traceback")


EVIDENCE = (
    "worker process 4711 was killed while it ran start 1 of this job, as its journal shows "
    "(on build-7.example.org, process 4711, signal 9 (SIGKILL), 812 MiB of memory); "
    "see 01990f2e-1234-7abc-8def-0123456789ab"
)
CRASHED = replace(
    FAILED, log=(Start(1, Outcome.CRASHED, 1_000_000.5, 1_000_002.0, "w1", Failure("crash", EVIDENCE)),)
)


def test_the_evidence_of_a_crash_is_told_whole() -> None:
    assert f"start 1 on w1 crashed: {EVIDENCE}" in story(CRASHED)


@pytest.mark.parametrize("width", [30, 40, 80, 120])
def test_on_a_terminal_it_is_wrapped_and_still_whole(width: int) -> None:
    lines = list(jobview.story(CRASHED, NOW, "failed because", width))
    first = next(number for number, line in enumerate(lines) if line.endswith("start 1 on w1 crashed:"))
    after = next(number for number, line in enumerate(lines) if number > first and " failed" in line)
    reason = lines[first + 1 : after]

    assert " ".join(line.strip() for line in reason) == EVIDENCE
    assert all(line.startswith("   ") for line in reason)
    assert all(len(line) <= max(width, 48) for line in reason)


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        (State.QUEUED, {"cancel", "explain"}),
        (State.RUNNING, {"cancel", "explain"}),
        (State.PARKED, {"cancel", "explain"}),
        (State.SUCCEEDED, set()),
        (State.CANCELLED, {"retry"}),
        (State.EXPIRED, {"retry"}),
        (State.FAILED, {"retry"}),
    ],
)
def test_only_what_can_be_done_is_offered(state: State, verbs: set[str]) -> None:
    text = story(record(state=state, finished=NOW if state.final else None))
    assert {
        verb for verb in ("retry", "cancel", "discard", "explain") if f"noria jobs {verb}" in text
    } == verbs
    assert ("nothing: it is done" in text) == (not verbs)


def test_dropped_starts_are_counted() -> None:
    assert "8 earlier starts, no longer kept" in story(replace(FAILED, starts=10))


def test_a_running_job_has_its_present_start() -> None:
    text = story(record(state=State.RUNNING, began=NOW - 5, starts=1, worker="w9"))
    assert "start 1 on w9" in text
    assert "it runs" in text


def test_large_and_strange_values_are_named_not_dumped() -> None:
    assert "characters more" in story(record(body=b'"' + b"x" * 10_000 + b'"'))
    assert "3 bytes of msgpack" in story(record(body=b"\x81\xa1a", codec="msgpack"))
    assert "1 byte of what is no JSON" in story(record(body=b"\xff"))


def test_nothing_in_a_story_or_row_steers_a_terminal() -> None:
    hostile = "\x1b]0;x\x07\n\u202e"
    job = replace(
        FAILED, worker=hostile, unique=hostile, extras=Extras(tags=(hostile,), correlation_id=hostile),
        failure=Failure("exception", hostile, hostile, hostile), body=b'"\\u001b[31m"',
        log=(Start(1, Outcome.FAILED, 1.0, 2.0, hostile, Failure("exception", hostile, hostile)),),
    )  # fmt: skip
    for text in (story(job).replace("\n", ""), *jobview.row(job, NOW), to_json(job_resource(job))):
        assert text.isprintable(), text


def test_a_row_is_short() -> None:
    assert jobview.row(FAILED, NOW)[:5] == (
        "0c0d0e0f",
        "failed (dead)",
        "send",
        "1m 40s ago",
        "2/2",
    )
    assert len(jobview.row(replace(FAILED, failure=Failure("exception", "y" * 500)), NOW)[5]) == 60


def test_the_last_own_frame_is_found() -> None:
    frame = own_frame(TRACE)
    assert frame is not None
    assert (frame.file, frame.line, frame.function) == ("/srv/shop/mail.py", 40, "deliver")
    foreign = own_frame('  File "/usr/lib/python3.11/json.py", line 1, in loads\n    x\n')
    assert foreign is not None
    assert foreign.file.endswith("json.py")
    assert own_frame("no frames here") is None


def test_failures_that_differ_in_numbers_and_names_are_one_group() -> None:
    def failed(message: str, task: str = "send") -> Record:
        return replace(FAILED, task=task, failure=Failure("exception", message, "OSError"))

    kin = grouped(
        [failed("timeout after 3 s on 'a'"), failed("timeout after 40 s on 'b'"), failed("refused")]
    )
    assert [(each.count, each.error) for each in kin] == [
        (2, "OSError: timeout after 3 s on 'a'"),
        (1, "OSError: refused"),
    ]
    assert fingerprint("send", FAILURE) != fingerprint("other", FAILURE)


def test_a_summary_is_the_kind_and_the_message() -> None:
    assert summary(Failure("exception", "m", "a.b.MyError")) == "MyError: m"
    assert summary(Failure("timeout", "too slow")) == "too slow"
    assert summary(Failure("exception", "", "KeyError")) == "KeyError"
    assert summary(None) == ""


def test_json_of_a_queue_counts_its_states() -> None:
    counts = QueueCounts({State.QUEUED: 3, State.RUNNING: 0}, dead=1, oldest_ready=2.5)
    assert queue_resource("mail", counts, []) == {
        "name": "mail", "counts": {"queued": 3}, "dead": 1, "oldest_ready_seconds": 2.5, "consumers": 0,
        "paused": None, "held_by": None, "order": "oldest", "ageing": 3600.0, "max_age": None, "max_length": None,
        "concurrency": None, "high_water": None,
    }  # fmt: skip


def test_json_of_a_paused_queue_says_who_why_and_how_long() -> None:
    counts = QueueCounts({}, paused=Paused("it is down", "alice", 0.0, 60.0))
    assert queue_resource("mail", counts, [])["paused"] == {
        "by": "alice", "reason": "it is down", "since": "1970-01-01T00:00:00.000Z", "until": "1970-01-01T00:01:00.000Z",
    }  # fmt: skip


def test_a_queue_is_told_to_people_with_its_limits(capsys: pytest.CaptureFixture[str]) -> None:
    limits = QueueLimits(
        order="newest", ageing=60.0, max_age=600.0, max_length=100_000, concurrency=1
    )  # fmt: skip
    found = {"mail": QueueCounts({State.QUEUED: 1}, limits=limits), "other": QueueCounts({})}

    queues.show(Output(Flags()), Counts(found, []), 0.0)

    told = capsys.readouterr().out
    words = "at most 1 job at once, at most 100,000 waiting, none older than 600 s, newest first, ageing 60 s"
    assert f"queue 'mail': {words}" in told
    assert "'other'" not in told


def test_a_queue_that_is_held_is_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "lists": QueueCounts({State.QUEUED: 1}, limits=QueueLimits(high_water={"details": 2})),
        "details": QueueCounts({State.QUEUED: 1, State.WAITING: 1_233}),
    }

    queues.show(Output(Flags()), Counts(found, []), 0.0)

    told = capsys.readouterr().out
    assert "queue 'lists' is held: 1,234 jobs wait in 'details', and the mark is 2" in told
    assert "queue 'lists': held while 2 wait in 'details'" in told


def test_a_paused_queue_is_told_to_people_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    paused = QueueCounts({State.QUEUED: 1}, paused=Paused("the gateway is down", "alice", 0.0, 60.0))

    queues.show(Output(Flags()), Counts({"mail": paused, "other": QueueCounts({})}, []), 0.0)

    told = capsys.readouterr().out
    assert (
        "queue 'mail' is paused by alice because the gateway is down, until 1970-01-01 00:01:00 UTC" in told
    )
    assert "'other'" not in told
