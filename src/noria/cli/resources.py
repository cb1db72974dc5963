"""Jobs, queues and dead letters as JSON: the same names as REST."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

from noria import ids
from noria.app.status import attempt_of
from noria.backends.contract import QueueCounts, WorkerLine
from noria.cli.output import embed
from noria.cli.quantities import moment
from noria.model.job import Record, Start
from noria.model.outcome import Failure
from noria.model.state import State

_VARIABLE: Final = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+|'[^']*'|\"[^\"]*\"")


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
        "worker": record.worker or None,
        "cancelling": record.cancelling,
        "error": failure_resource(record.failure, record.task, attempt_of(record)),
    }
    if record.body is not None:
        resource["args"] = embed(record.body, record.codec)
    if record.result is not None:
        resource["result"] = embed(record.result, record.result_codec)
    if record.log:
        resource["attempts"] = [start_resource(start, record.task) for start in record.log]
    return resource


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


def fingerprint(task: str, failure: Failure) -> str:
    """The same for what is probably one fault: by task, kind, and what does not vary in the message."""
    text = "\n".join((task, failure.reason, failure.type, _VARIABLE.sub("#", failure.message)[:300]))
    return blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def queue_resource(name: str, counts: QueueCounts, workers: Iterable[WorkerLine]) -> dict[str, Any]:
    """A queue in numbers."""
    return {
        "name": name,
        "counts": {state.word: counts.states[state] for state in State if counts.states.get(state)},
        "dead": counts.dead,
        "oldest_ready_seconds": counts.oldest_ready,
        "consumers": sum(name in worker.card.queues for worker in workers),
    }


def summary(failure: Failure | None) -> str:
    """A failure as the end of a line: its type, without the module, and its message."""
    if failure is None:
        return ""
    kind = failure.type.rpartition(".")[2]
    if failure.message and kind:
        return f"{kind}: {failure.message}"
    return failure.message or kind or failure.reason
