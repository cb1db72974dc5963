"""Jobs, queues, timers and dead letters as JSON: the same names as REST."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import structs

from noria import ids
from noria.app.service import Holder
from noria.app.status import attempt_of
from noria.backends.contract import Paused, QueueCounts, WorkerLine
from noria.clock import moment
from noria.model.fingerprint import fingerprint
from noria.model.job import Record, Start
from noria.model.outcome import Failure
from noria.model.past import Life
from noria.model.schedule import Schedule, Template, coming
from noria.model.state import State
from noria.model.timetable import Cron, Every, Rule, in_words

AHEAD: Final = 5
"""Slots of a timer that are shown."""


def job_resource(record: Record) -> dict[str, Any]:
    """A job; `args` and `result` are there if they were read."""
    resource = {
        "id": ids.to_text(record.id),
        "task": record.task,
        "queue": record.queue,
        "state": record.state.word,
        "final": record.state.final,
        "dead": record.dead,
        "priority": record.priority,
        "attempt": attempt_of(record),
        "max_attempts": record.tally.attempts,
        "starts": record.starts,
        "crashes": record.tally.crashes,
        "releases": record.tally.releases,
        "snoozes": record.tally.snoozes,
        "created_at": moment(record.created),
        "run_at": moment(record.due),
        "started_at": moment(record.began),
        "finished_at": moment(record.finished),
        "expires_at": moment(record.expires),
        "deadline_at": moment(record.deadline),
        "timeout": record.extras.timeout,
        "tags": record.extras.tags,
        "correlation_id": record.extras.correlation_id or None,
        "unique_key": record.unique,
        "group": None if record.group is None else {"family": record.group.family, "key": record.group.key},
        "needs": record.needs,
        "copy_of": record.extras.copy_of or None,
        "schedule": record.extras.schedule or None,
        "slot_at": moment(record.extras.slot),
        "parent_id": ids.of_hex(record.extras.parent_id) or None,
        "root_id": ids.of_hex(record.extras.root_id) or None,
        "after": [ids.of_hex(each) for each in record.extras.after],
        "awaits": [ids.to_text(each) for each in record.awaits],
        "linked": [ids.to_text(each) for each in record.linked],
        "worker": record.worker or None,
        "cancelling": record.cancelling,
        "cancelling_since": moment(record.cancelling_since),
        "progress": progress_resource(record),
        "question_id": record.question or None,
        "items": record.items,
        "error": failure_resource(record.failure, record.task, attempt_of(record)),
    }
    if record.body is not None:
        resource["args"] = embed(record.body, record.codec)
    if record.result is not None:
        resource["result"] = embed(record.result, record.result_codec)
    if record.log:
        resource["attempts"] = [start_resource(start, record.task) for start in record.log]
    if record.past:
        resource["history"] = [life_resource(life, record.task) for life in record.past]
    return resource


def life_resource(life: Life, task: str) -> dict[str, Any]:
    """How a job had ended before it was retried; with the arguments that it lost then, if they are kept."""
    resource: dict[str, Any] = {
        "number": life.number,
        "state": life.state.word,
        "starts": life.starts,
        "retried_at": moment(life.retried),
        "reason": life.note or None,
        "error": failure_resource(life.failure, task, life.starts),
        "edited": life.edited,
    }
    if life.body is not None:
        resource["args"] = embed(life.body, life.codec)
    return resource


def progress_resource(record: Record) -> dict[str, Any] | None:
    """How far a job has come; None if it has not said so."""
    progress = record.progress
    if progress is None:
        return None
    return {"fraction": progress.fraction, "note": progress.note, "at": moment(progress.at)}


def start_resource(start: Start, task: str) -> dict[str, Any]:
    """One ended start of a job."""
    return {
        "number": start.number,
        "outcome": start.outcome.word,
        "started_at": moment(start.began or None),
        "ended_at": moment(start.ended),
        "worker": start.worker or None,
        "error": failure_resource(start.failure, task, start.number),
    }


def failure_resource(failure: Failure | None, task: str, attempt: int) -> dict[str, Any] | None:
    """Why a job or start did not succeed."""
    if failure is None:
        return None
    return {
        "reason": failure.reason,
        "type": failure.type or None,
        "message": failure.message,
        "traceback": failure.traceback or None,
        "fingerprint": fingerprint(task, failure),
        "attempt": attempt,
    }


def queue_resource(
    name: str, counts: QueueCounts, workers: Iterable[WorkerLine], holder: Holder | None = None
) -> dict[str, Any]:
    """A queue in numbers. `holder`: which other queue holds it just now."""
    return {
        "name": name,
        "counts": {state.word: counts.states[state] for state in State if counts.states.get(state)},
        "dead": counts.dead,
        "oldest_ready_seconds": counts.oldest_ready,
        "consumers": sum(name in worker.card.queues for worker in workers),
        "paused": _pause_resource(counts.paused),
        "held_by": None if holder is None else holder.queue,
        **structs.asdict(counts.limits),
    }


def _pause_resource(paused: Paused | None) -> dict[str, Any] | None:
    if paused is None:
        return None
    return {
        "by": paused.by or None,
        "reason": paused.reason or None,
        "since": moment(paused.since),
        "until": moment(paused.until),
    }


def schedule_resource(name: str, schedule: Schedule, now: float) -> dict[str, Any]:
    """A timer, and how it stands."""
    template, standing, paused = schedule.template, schedule.standing, schedule.paused
    return {
        "name": name,
        "task": template.task,
        "queue": template.queue,
        "args": embed(template.body, template.codec),
        **rule_resource(schedule.rule),
        "overlap": schedule.overlap,
        "catch_up": schedule.catch_up,
        "window": schedule.window,
        "jitter": schedule.jitter,
        **_template_resource(template),
        "source": schedule.source,
        "paused": None
        if paused is None
        else {"by": paused.by or None, "reason": paused.reason or None, "since": moment(paused.since)},
        "next_at": [moment(slot) for slot in coming(schedule, now, AHEAD)],
        "last_slot_at": moment(standing.last),
        "last_job_id": standing.job or None,
        "waiting_at": [moment(slot) for slot in standing.waiting],
        "backlog": len(standing.backlog),
        "ran": standing.ran,
        "skipped": standing.skipped,
        "missed": standing.missed,
        "log": [
            {
                "first_at": moment(each.first),
                "last_at": moment(each.last),
                "what": each.what,
                "count": each.count,
                "job_id": each.job or None,
            }
            for each in standing.log
        ],
    }


def _template_resource(template: Template) -> dict[str, Any]:
    """The options of a timer's jobs, as `PUT` takes them; those that were never said are left out."""
    extras = template.extras
    said = {
        "expires": template.expires,
        "deadline": template.deadline,
        "timeout": extras.timeout,
        "retry": extras.retry,
        "tags": extras.tags or None,
        "correlation_id": extras.correlation_id or None,
        "keep": template.keep,
    }
    return {
        "priority": template.priority,
        "attempts": template.attempts,
        "crashes": template.crash_budget,
        **{name: value for name, value in said.items() if value is not None},
    }


def rule_resource(rule: Rule) -> dict[str, Any]:
    """When a timer is due: in words, and as it was said."""
    return {
        "words": in_words(rule),
        "every": rule.seconds if isinstance(rule, Every) else None,
        "cron": rule.expression if isinstance(rule, Cron) else None,
        "tz": rule.tz if isinstance(rule, Cron) else None,
    }


def summary(failure: Failure | None) -> str:
    """A failure as the end of a line: its type, without the module, and its message."""
    if failure is None:
        return ""
    kind = failure.type.rpartition(".")[2]
    if failure.message and kind:
        return f"{kind}: {failure.message}"
    return failure.message or kind or failure.reason


def embed(body: bytes, codec: str) -> Any:
    """Stored bytes as part of a JSON text: as they are if they are JSON, so that large integers survive."""
    if codec == "json":
        try:
            return msgspec.Raw(msgspec.json.format(body, indent=-1))
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    return {"codec": codec, "base64": body}
