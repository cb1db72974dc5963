"""Settling: starts that succeeded in one script; what becomes of the others is decided here, and written by another.

Starts that succeeded take a short way of their own: they are the most, and nothing about them has to be decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from noria.backends.contract import Verdict
from noria.backends.ends import asking, storable
from noria.backends.redis import heirs, writes
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.drafts import Drafts
from noria.backends.redis.settings import ERASED_FOR, PORTION, Settings
from noria.backends.redis.ties import told
from noria.backends.redis.verdicts import end_of_start
from noria.backends.redis.writes import Seen, Write
from noria.backends.units import millis
from noria.ids import SessionId
from noria.model.outcome import End
from noria.model.settlement import Settlement
from noria.model.state import State

Item = tuple[int, Settlement]
"""An end, and its place in the call."""

_VERDICTS: Final = {"o": Verdict.OK, "a": Verdict.ALREADY, "s": Verdict.STALE}


@dataclass(slots=True)
class Settle(Call):
    """The call."""

    session: SessionId
    ends: Sequence[Settlement]

    def steps(self, settings: Settings) -> Steps:
        """End starts, as `Queue.settle` promises."""
        verdicts = [Verdict.STALE] * len(self.ends)
        follow_ups = {index: Drafts(end.follow_ups, settings.max_body) for index, end in asking(self.ends)}
        flaws = {index: flaw for index, drafts in follow_ups.items() if (flaw := drafts.flaw)}
        fit = [
            (index, storable(end, settings.max_body, flaws.get(index))) for index, end in enumerate(self.ends)
        ]
        done = [item for item in fit if item[1].state is State.SUCCEEDED and item[0] not in follow_ups]
        rest = [item for item in fit if item[1].state is not State.SUCCEEDED]
        asked = [self._request(portion, settings) for portion in writes.portions(done)]
        if follow_ups:
            following = [item for item in fit if item[1].state is State.SUCCEEDED and item[0] in follow_ups]
            for portion in _portions(following):
                asked.append(self._follow(portion, follow_ups, settings))
            done += following
        looked = writes.looks([end.id for _, end in rest], self.session)
        if not asked and not looked:
            return verdicts
        answers = yield [*asked, *looked]
        succeeded, answers = answers[: len(asked)], answers[len(asked) :]
        for (index, _), letter in zip(done, writes.letters(succeeded), strict=True):
            verdicts[index] = _VERDICTS[letter]
        if writes.are_awaited(succeeded):
            yield [heirs.request(settings)]
        while rest:
            rest = yield from self._end(rest, answers, verdicts, settings)
            answers = (yield writes.looks([end.id for _, end in rest], self.session)) if rest else []
        return verdicts

    def _end(
        self, rest: list[Item], answers: list[list[bytes]], verdicts: list[Verdict], settings: Settings
    ) -> Steps:
        """Write ends that are no successes; gives those that something else has changed meanwhile."""
        now, alive, worker = int(answers[0][0]), bool(answers[0][1]), (answers[0][2] or b"").decode()
        rows = [row for answer in answers for row in writes.seen(answer[3:])]
        held: dict[bytes, tuple[Item, Write]] = {}
        for item, row in zip(rest, rows, strict=True):
            verdict = self._verdict(item[1], row, alive=alive)
            if row.id in held:
                verdict = Verdict.ALREADY
            elif verdict is Verdict.OK and row.head is not None:
                end = item[1]
                write = end_of_start(
                    End(end.outcome, end.state, end.delay, end.failure),
                    row,
                    row.head,
                    now=now,
                    settings=settings,
                    worker=worker,
                    began=end.began,
                )
                write.close = end.close
                held[row.id] = item, write
            verdicts[item[0]] = verdict
        if not held:
            return []
        wanted = writes.requests([write for _, write in held.values()], self.session)
        letters = yield from heirs.write(wanted, settings)
        again: list[Item] = []
        for (item, _), letter in zip(held.values(), letters, strict=True):
            if letter == writes.NOT_OPEN:
                verdicts[item[0]] = Verdict.STALE
            elif letter == writes.CHANGED:
                again.append(item)
        return again

    def _verdict(self, end: Settlement, row: Seen, *, alive: bool) -> Verdict:
        head = row.head
        ours = head is not None and head.session == str(self.session) and head.starts == end.starts
        if head is None or not ours or head.taken:
            return Verdict.STALE
        if head.state != State.RUNNING:
            return Verdict.ALREADY
        return Verdict.OK if alive else Verdict.STALE

    def _request(self, portion: Sequence[Item], settings: Settings) -> Request:
        words = self._first_words(settings)
        for _, end in portion:
            words += _words(end)
        return Request("settle", words)

    def _follow(
        self, portion: Sequence[Item], follow_ups: Mapping[int, Drafts], settings: Settings
    ) -> Request:
        follows = [job for index, _ in portion for job in follow_ups[index].jobs if follow_ups[index].ties]
        words = [*self._first_words(settings), millis(settings.poll), told(follows)]
        for index, end in portion:
            words += _words(end)
            jobs = follow_ups[index].words
            words.append(len(jobs))
            for each in jobs:
                words += each or ()
        return Request("settle_follow", words)

    def _first_words(self, settings: Settings) -> list[Word]:
        return [
            self.session,
            millis(settings.keep_succeeded),
            settings.keep_succeeded_at_most,
            millis(ERASED_FOR * settings.timeout),
        ]


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """As many as one script takes, each with all of its follow-ups."""
    portion: list[Item] = []
    size = 0
    for item in items:
        jobs = 1 + len(item[1].follow_ups)
        if portion and size + jobs > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(item)
        size += jobs
    if portion:
        yield portion


def _words(end: Settlement) -> Iterator[Word]:
    yield end.id
    yield end.starts
    yield end.codec
    what = b"-" if end.result is None else b"t" if _is_text(end.result, end.codec) else b"b"
    yield what if not end.close else b"%s%d" % (what, millis(end.close))
    yield end.result or b""


def _is_text(result: bytes, codec: str) -> bool:
    """Whether it can be told in a hint. Only a text codec is tried as text."""
    if codec != "json":
        return False
    if result.isascii():
        return True
    try:
        result.decode()
    except UnicodeDecodeError:
        return False
    return True
