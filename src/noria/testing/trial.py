"""The hands of a test on time, on what was enqueued, and on what befalls the worker."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from noria import aio, ids
from noria.app.application import Noria
from noria.app.job import Job
from noria.app.options import nearest
from noria.app.task import Task
from noria.backends.contract import Parts
from noria.clock import Clock, utc
from noria.errors import InvalidInput, JobNotFound, shown
from noria.ids import Id
from noria.model.asked import QuestionStatus
from noria.model.state import RUNS, State
from noria.testing.enqueued import Enqueued, Witness
from noria.testing.fleet import Fleet, Stuck
from noria.testing.stage import LONGEST, Stage

_DAY: Final = 86_400.0
_MANY: Final = 1_000

AnyJob = Job[Any] | str | UUID


class Trial:
    """What `noria.testing.run` gives: a test's hands on time, and on what befalls its worker.

    Time moves by itself whenever the test waits and nothing can go on without it, to the next thing that is due.
    """

    def __init__(
        self, app: Noria, stage: Stage, clock: Clock, store: Any, witness: Witness, fleet: Fleet
    ) -> None:
        self._app = app
        self._stage = stage
        self._clock = clock
        self._store = store
        self._witness = witness
        self._fleet = fleet

    # -- time --------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The time of the test, in UTC."""
        return utc(self._clock.wall())

    async def drain(self) -> None:
        """Run everything that is ready, and what that enqueues, to its end; what is due later, or asks, stays.

        Time moves only as far as running jobs need it.

        Raises:
            Stuck: after a day of virtual time something still runs, or the worker has failed.
        """
        end = self._stage.now + _DAY
        while await self._is_busy():
            if self._stage.now > end:
                raise Stuck(f"after a day of virtual time there is still work: {await self._running()}")
            await self._stage.moved()

    async def advance(self, seconds: float) -> None:
        """Let time pass; what becomes due meanwhile runs.

        Args:
            seconds: virtual; 0 or more.

        Raises:
            InvalidInput: it is no such number.
        """
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < LONGEST:
            raise InvalidInput(f"seconds must be a number, 0 or more, not {shown(seconds)}", field="seconds")
        await aio.sleep(seconds)
        await self._settle_down()

    async def started(self, job: AnyJob) -> None:
        """Let time pass until a job runs.

        Raises:
            JobNotFound: there is no such job.
            Stuck: it has ended, or a day of virtual time has passed.
        """
        await self._reached(job, RUNS, "run")

    async def asked(self, job: AnyJob) -> QuestionStatus:
        """Let time pass until a job asks a question; `job.answer` answers it.

        Returns:
            the question.

        Raises:
            JobNotFound: there is no such job.
            Stuck: it has ended, or a day of virtual time has passed.
        """
        await self._reached(job, {State.ASKING}, "ask")
        [record] = await self._store.get([_id(job)])
        assert record is not None, "it asks"
        return await self._app.questions.get(record.question)

    async def _reached(self, job: AnyJob, states: Collection[State], what: str) -> None:
        end = self._stage.now + _DAY
        while (state := await self._state(job)) not in states:
            if state.final or self._stage.now > end:
                raise Stuck(f"job {_text(job)} does not {what}: it is {state.word}")
            await self._settle_down()
            if await self._state(job) is state:
                await self._stage.moved()
        await self._settle_down()

    # -- what was enqueued ---------------------------------------------------------------------------------------

    def enqueued(self, task: Task[..., Any] | str | None = None, /, **arguments: Any) -> list[Enqueued]:
        """What the application has enqueued since the test began, in order, by whomever.

        Args:
            task: only jobs of this task, or of this name.
            arguments: only jobs with these arguments.

        Raises:
            UnknownTask: the application declares no such task, so that nothing could ever be found.
            InvalidInput: no task has such an argument, or the one that is asked for has not.
        """
        name = task.name if isinstance(task, Task) else task
        self._check_sought(name, arguments)
        return [
            each
            for each in self._witness.seen
            if name in (None, each.task)
            and all(
                key in each.arguments and each.arguments[key] == value for key, value in arguments.items()
            )
        ]

    def _check_sought(self, name: str | None, arguments: Collection[str]) -> None:
        """What nobody can enqueue is a slip of the test, which would hold for ever."""
        seen = [each for each in self._witness.seen if name in (None, each.task)]
        if name is not None and not seen:
            self._app.find_task(name)
        tasks = [task for task in self._app.tasks if name in (None, task)]
        known = {key for task in tasks for key in self._app.find_task(task).signature.shape.__struct_fields__}
        known |= {key for each in seen for key in each.arguments}
        for key in arguments:
            if key not in known:
                whose = "no task has an" if name is None else f"task {name!r} has no"
                raise InvalidInput(f"{whose} argument {shown(key)}; {nearest(key, known)}", field=key)

    # -- what befalls the worker -------------------------------------------------------------------------------

    async def kill(self) -> None:
        """Kill the worker as with -9, wherever it is, and start another, as a supervisor does.

        What ran has crashed, and runs again; what was only leased goes back. Threads cannot be killed: theirs
        go on, and nobody hears of it.
        """
        self._fleet.kill()
        await self._fleet.hire()

    def deliver_twice(self, job: AnyJob) -> None:
        """At its next start, have the job run in two workers at once; the outcome of the first is refused.

        So it happens when a worker was silent for too long, and goes on. The start counts as a crash.
        """
        self._fleet.plan.twice.add(_id(job))

    def lose_settle(self, job: AnyJob, *, recorded: bool = False) -> None:
        """Kill the worker when the job has ended, before its outcome is recorded: it runs again.

        Args:
            recorded: kill it after that instead: the job does not run again.
        """
        self._fleet.plan.unsettled[_id(job)] = recorded

    # -- within --------------------------------------------------------------------------------------------------

    async def _settle_down(self) -> None:
        """Let everything happen that needs no time, what is due by now included."""
        await self._store.sweep(_MANY)
        await self._stage.quiet()
        self._fleet.check()

    async def _is_busy(self) -> bool:
        await self._settle_down()
        return self._fleet.doubled or bool(await self._running())

    async def _running(self) -> dict[str, int]:
        """How many jobs are ready or run, by queue; only queues that the worker serves."""
        counts = await self._store.counts()
        served = {queue for line in counts.workers for queue in line.card.queues}
        busy = {
            queue: sum(each.states.get(state, 0) for state in (State.QUEUED, State.RUNNING))
            for queue, each in counts.queues.items()
            if queue in served
        }
        return {queue: jobs for queue, jobs in busy.items() if jobs}

    async def _state(self, job: AnyJob) -> State:
        [record] = await self._store.get([_id(job)], Parts.NONE)
        if record is None:
            raise JobNotFound(f"there is no job {_text(job)}")
        state: State = record.state
        return state


def _id(job: AnyJob) -> Id:
    return ids.from_text(_text(job))


def _text(job: AnyJob) -> str:
    return job.id if isinstance(job, Job) else str(job)
