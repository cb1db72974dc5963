"""Who enqueues workflows in a simulation."""

from __future__ import annotations

from noria import aio
from noria.ids import IdSource
from noria.model.job import NewJob
from noria.testing.offspring import workflow
from noria.testing.people import Person
from noria.testing.scenario import new_job


class Planner(Person):
    """Enqueues jobs that wait for one another, in one call or in several."""

    async def run(self, ids: IdSource) -> None:
        """Enqueue as many workflows as the options say."""
        flows = self._options.flows
        for _ in range(flows):
            await aio.sleep(self._dice.random() * self._options.span / flows)
            others, jobs = list(self._asked), self._draw(ids)
            drawn = workflow(self._dice, jobs, others)
            size = self._dice.choice((1, 2, len(drawn), len(drawn)))
            for start in range(0, len(drawn), size):
                await self._enqueue(drawn[start : start + size])

    def _draw(self, ids: IdSource) -> list[NewJob]:
        now = self._clock.wall()
        count = self._dice.randint(2, 6)
        jobs = [new_job(ids.next(), self._dice, self._options, now) for _ in range(count)]
        self._asked += [job.id for job in jobs]
        return jobs

    async def _enqueue(self, jobs: list[NewJob]) -> None:
        await self._insist(lambda: self._backend.push(jobs))
