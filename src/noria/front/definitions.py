"""Row 14: tasks, as their authors declare them and workers publish them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from noria.backends.contract import Counts
from noria.front import replies
from noria.front.flows import Flows
from noria.front.problem import Problem
from noria.front.route import Ask
from noria.front.tasks import Known


async def show(ask: Ask) -> Response:
    """`GET /v1/tasks`."""
    counts = await ask.desk.counts()
    known = [each for each in await ask.desk.tasks.all() if ask.who.sees_task(each.sheet.name)]
    await ask.desk.flows.refresh()
    return replies.page([task_view(each, counts, ask.desk.flows) for each in known], None)


async def one(ask: Ask) -> Response:
    """`GET /v1/tasks/{name}`."""
    name = ask.path["name"]
    known = await ask.desk.tasks.look(name) if ask.who.sees_task(name) else None
    if known is None:
        raise Problem("task_unknown", f"no task {name[:128]!r} is known here")
    await ask.desk.flows.refresh()
    return replies.json(task_view(known, await ask.desk.counts(), ask.desk.flows))


def task_view(known: Known, counts: Counts, flows: Flows) -> dict[str, Any]:
    """A task as it is shown."""
    sheet = known.sheet
    rates = flows.rates(lambda point: point.task == sheet.name)
    return {
        "name": sheet.name,
        "description": sheet.description,
        "args_schema": sheet.args_schema,
        "result_schema": sheet.result_schema,
        "positional": sheet.positional,
        "queue": sheet.queue,
        "priority": sheet.priority,
        "attempts": sheet.attempts,
        "crashes": sheet.crash_budget,
        "timeout": sheet.timeout,
        "keep": sheet.keep,
        "tags": sheet.tags,
        "retry": {
            "base": sheet.retry.base,
            "cap": sheet.retry.cap,
            "factor": sheet.retry.factor,
            "jitter": sheet.retry.jitter,
        },
        "executor": sheet.executor,
        "safe": sheet.safe,
        "workers_serving": sum(sheet.name in worker.card.tasks for worker in counts.workers),
        "rate": rates.went,
        "failed_1h": rates.failed,
    }
