"""One worker, several queues, several kinds of slots: none of them holds up another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noria import Noria
from noria.backends.contract import Want
from noria.model.job import Lane
from noria.worker import Exit


def application(folder: Path) -> Noria:
    app = Noria(f"sqlite:///{folder}/noria.db?synchronous=normal")

    @app.task(queue="quick")
    async def quick(n: int) -> int:
        return n

    @app.task(queue="slow")
    def slow(n: int) -> int:
        return n

    return app


@pytest.mark.parametrize("name", ["quick", "slow"])
async def test_a_burst_worker_of_two_queues_leaves_nothing_behind(short_tmp: Path, name: str) -> None:
    """However few slots are free, both queues are asked: an empty one is no sign that the other is."""
    app = application(short_tmp)
    task = app.find_task(name)
    async with app:
        await app.enqueue_many(task.job(n) for n in range(100))

        end = await app.worker(burst=True, concurrency=3, threads=3).run()

        counts = await app.backend.counts()
    assert end is Exit.CLEAN
    assert [sum(each.states.values()) for each in counts.queues.values()] == [100]
    assert not any(
        state.word == "queued" and n for each in counts.queues.values() for state, n in each.states.items()
    )


async def test_every_lease_asks_every_queue(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(short_tmp)
    """However little room there is: a want of nothing takes what the other queue leaves."""
    asked: list[tuple[Lane, set[str]]] = []
    async with app:
        lease = app.backend.lease

        async def watched(session: int, wants: list[Want], limit: int, wait: float) -> object:
            asked.append((wants[0].lane, {want.queue for want in wants}))
            return await lease(session, wants, limit, wait)  # type: ignore[arg-type]  # passed on as it came

        monkeypatch.setattr(app.backend, "lease", watched)
        await app.enqueue_many(app.find_task("slow").job(n) for n in range(20))
        await app.worker(burst=True, concurrency=1, threads=1).run()

    assert asked
    assert all(queues == {"quick", "slow"} for _, queues in asked)


async def test_a_handler_may_change_the_working_directory(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the file that it named when the application was opened."""
    (short_tmp / "elsewhere").mkdir()
    monkeypatch.chdir(short_tmp)
    app = Noria("sqlite:///noria.db?synchronous=normal")

    @app.task
    def wander() -> str:
        os.chdir("elsewhere")
        return os.getcwd()

    async with app:
        jobs = await app.enqueue_many(wander.job() for _ in range(1))
        await app.worker(burst=True).run()

        # The reader opens a connection of its own, which it has not had until now.
        assert (await jobs[0].status()).state == "succeeded"
    assert not (short_tmp / "elsewhere" / "noria.db").exists()
