"""Row 24: the whole in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace
from starlette.responses import Response

from noria.app.service import holder_of
from noria.backends.contract import Counts, Flow, Point
from noria.clock import moment
from noria.errors import InvalidInput
from noria.front import limits, replies
from noria.front.flows import HOUR
from noria.front.labels import OTHER, bounded, bounded_queues, largest
from noria.front.paging import limit_of
from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.front.query import read_point
from noria.front.resources import queue_resource
from noria.front.route import Ask
from noria.model.flow import WORDS
from noria.model.spans import read_seconds
from noria.model.state import State

_LONGEST_STEP: Final = 1_440


async def show(ask: Ask) -> Response:
    """`GET /v1/stats`; with `?flat=true` as one object of numbers, for autoscalers."""
    found = summary(seen(await ask.desk.counts(), ask.who))
    flows = [flow for flow in await ask.desk.backend.stats() if ask.who.sees(flow.queue, flow.task)]
    found["since_start"] = _sums(flows)
    found["tasks"] = [{"name": name, **_all_words(words)} for name, words in _by_task(flows).items()]
    return replies.json(_flat(found) if ask.request.query_params.get("flat") == "true" else found)


async def series(ask: Ask) -> Response:
    """`GET /v1/stats/series`: what came and went by time."""
    params = ask.request.query_params
    now = ask.desk.clock.wall()
    step = _minutes(params.get("step"))
    since = _time(params.get("since"), now, now - HOUR)
    until = _time(params.get("until"), now, now)
    if (until - since) / (60 * step) > limits.SPANS:
        raise Problem(
            "bad_filter", f"that is more than {limits.SPANS:,} spans; take a longer step, or less time"
        )
    points = await ask.desk.backend.series(since, until, step)
    items = _spans(point for point in points if ask.who.sees(point.queue, point.task))
    return replies.page(items, None, step=60 * step)


def _minutes(text: str | None) -> int:
    """How long a span is, from seconds as text."""
    seconds = limit_of(text, 60 * _LONGEST_STEP, 60, "step")
    if seconds % 60:
        raise Problem("bad_filter", "step is in seconds, and in whole minutes of these: 60, 120 and so on")
    return seconds // 60


def _time(text: str | None, now: float, usual: float) -> float:
    """A time, or an age such as 2h."""
    if text is None:
        return usual
    try:
        point = read_point(text)
        return now - read_seconds(text) if point is None else point
    except InvalidInput as error:
        raise Problem("bad_filter", str(error)) from None


def _all_words(counts: Mapping[str, int]) -> dict[str, int]:
    return {word: counts.get(word, 0) for word in WORDS}


def _sums(flows: Iterable[Flow]) -> dict[str, int]:
    return {word: sum(flow.counts.get(word, 0) for flow in flows) for word in WORDS}


def _by_task(flows: Iterable[Flow]) -> dict[str, dict[str, int]]:
    """What came and went since the start, by task."""
    found: dict[str, Counter[str]] = {}
    for flow in flows:
        found.setdefault(flow.task, Counter()).update(flow.counts)
    return bounded(found)


def _spans(points: Iterable[Point]) -> list[dict[str, Any]]:
    """What came and went by time, queue and task."""
    points = list(points)
    sizes: Counter[tuple[str, str]] = Counter()
    for point in points:
        sizes[point.queue, point.task] += sum(point.counts.values())
    kept = largest(sizes)
    found: dict[tuple[float, str, str], Counter[str]] = {}
    for point in points:
        names = (point.queue, point.task)
        found.setdefault((point.at, *(names if names in kept else (OTHER, OTHER))), Counter()).update(
            point.counts
        )
    return [
        {"at": moment(at), "queue": queue, "task": task, **_all_words(counts)}
        for (at, queue, task), counts in found.items()
    ]


def seen(counts: Counts, who: Principal) -> Counts:
    """The queues that a key may see, and the workers that serve any of these."""
    if not who.queues:
        return counts
    return replace(
        counts,
        queues={name: each for name, each in counts.queues.items() if who.sees_queue(name)},
        workers=[each for each in counts.workers if any(map(who.sees_queue, each.card.queues))],
    )


def summary(counts: Counts) -> dict[str, Any]:
    """Totals and queues."""
    queues, workers = counts.queues, counts.workers
    totals = {state.word: sum(each.states.get(state, 0) for each in queues.values()) for state in State}
    return {
        "totals": totals,
        "dead": sum(each.dead for each in queues.values()),
        "workers": len(workers),
        "slots": {
            "busy": sum(each.vitals.running for each in workers),
            "size": sum(each.card.slots for each in workers),
        },
        "queues": [
            queue_resource(name, each, workers, holder_of(name, queues))
            for name, each in bounded_queues(queues).items()
        ],
    }


def _flat(found: dict[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {f"totals.{state}": number for state, number in found["totals"].items()}
    numbers |= {f"since_start.{word}": number for word, number in found["since_start"].items()}
    numbers |= {"dead": found["dead"], "workers": found["workers"]}
    numbers |= {f"slots.{kind}": number for kind, number in found["slots"].items()}
    for task in found["tasks"]:
        numbers |= {f"tasks.{task['name']}.{word}": task[word] for word in WORDS}
    for queue in found["queues"]:
        name = queue["name"]
        numbers |= {f"queues.{name}.{state}": number for state, number in queue["counts"].items()}
        numbers[f"queues.{name}.dead"] = queue["dead"]
        numbers[f"queues.{name}.consumers"] = queue["consumers"]
        numbers[f"queues.{name}.oldest_ready_seconds"] = queue["oldest_ready_seconds"] or 0.0
    return numbers
