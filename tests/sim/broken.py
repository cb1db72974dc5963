"""Systems with one rule removed; the checker must catch each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noria.backends.contract import Verdict
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.outcome import Outcome, Settlement
from noria.testing.simulation import Build
from noria.worker.run import Run, Runner
from noria.worker.worker import Worker


class Unfenced:
    """A backend that believes whoever settles: it takes each settlement for the present holder's."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def settle(self, session: SessionId, settlements: Sequence[Settlement]) -> list[Verdict]:
        verdicts = await self._inner.settle(session, settlements)
        for index, end in enumerate(settlements):
            if verdicts[index] is Verdict.STALE:
                verdicts[index] = await self._as_holder(end)
        return verdicts

    async def _as_holder(self, end: Settlement) -> Verdict:
        (record,) = await self._inner.get([end.id])
        if record is None or record.state.final:
            return Verdict.STALE
        forged = Settlement(
            end.id, record.starts, end.outcome, end.state, end.delay, end.result, end.codec, end.failure
        )
        (verdict,) = await self._inner.settle(record.session, [forged])
        return verdict


class EarlyRunner(Runner):
    """Settles each job as succeeded before it runs, as a consumer does that acknowledges first."""

    def start(self, run: Run) -> None:
        run.packed = (b"0", "json")
        if run.task is not None:
            self._settle(
                Settlement(
                    run.lease.id, run.lease.starts, Outcome.SUCCEEDED, ends.after_success().state, result=b"0"
                )
            )
            run.settled = True
        super().start(run)


class EarlyWorker(Worker):
    """A worker with an `EarlyRunner`."""

    runner_class = EarlyRunner


UNFENCED = Build(backend=Unfenced)
SETTLED_BEFORE_RUN = Build(worker=EarlyWorker)
