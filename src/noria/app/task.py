"""A task as its producers use it: called like its function, or enqueued as a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from noria.app.binding import Binding
from noria.app.job import Draft, Job
from noria.app.link import Links
from noria.app.options import JobOptions
from noria.app.plan import Plan
from noria.clock import Clock
from noria.ids import IdSource
from noria.model.task import TaskDef

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
C = TypeVar("C")


class Enqueuer(Generic[P, R]):
    """Makes jobs of one task, all by the same plan.

    Args:
        binding: checks and encodes arguments.
        plan: everything else about the jobs.
    """

    def __init__(self, binding: Binding, plan: Plan, links: Links, ids: IdSource, clock: Clock) -> None:
        self._binding = binding
        self._plan = plan
        self._links = links
        self._ids = ids
        self._clock = clock

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Enqueue a job. On return it is stored, and will end in exactly one recorded outcome.

        Takes what the function takes, without its context.

        Returns:
            the job; its `created` is False if a live job with the same `unique` key, or the same `id`, stands
            for it.

        Raises:
            InvalidArguments: the arguments do not fit the signature; `field` names the parameter.
            TooLarge: they are more than 1 MiB as JSON, or nested more than 64 levels deep.
            NotRunning: the application is not open on this event loop.
            Unavailable: the backend could not be reached; nothing was stored.
            Unknown: the backend did not answer; the job may be stored. Enqueue a `job(...)` with
                `app.enqueue_many` to be able to repeat it safely.
        """
        draft = self._draft(args, kwargs)
        [receipt] = await self._links.here().push_one(draft.new)
        return draft.job(receipt)

    def job(self, *args: P.args, **kwargs: P.kwargs) -> Draft[R]:
        """Describe a job for `app.enqueue_many`. Its arguments are checked and its id is given now.

        Raises:
            InvalidArguments, TooLarge: as `enqueue`.
        """
        return self._draft(args, kwargs)

    def _draft(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draft[R]:
        body = self._binding.pack(args, kwargs)
        new = self._plan.job(body, self._ids, self._clock)
        return Draft(new, self._links, self._clock, self._binding.unpack_result)


class Task(Enqueuer[P, R]):
    """A declared task. `P` are the parameters of its jobs, `R` is what they return.

    Attributes:
        definition: everything that was decided when it was declared.
        function: the function itself.
    """

    def __init__(
        self, definition: TaskDef, binding: Binding, links: Links, ids: IdSource, clock: Clock
    ) -> None:
        super().__init__(binding, Plan.of(definition, {}), links, ids, clock)
        self.definition = definition
        self.function: Callable[..., Any] = definition.handler
        self.__name__ = getattr(self.function, "__name__", definition.name)
        self.__doc__ = self.function.__doc__
        self.__module__ = self.function.__module__
        self.__wrapped__ = self.function

    @property
    def name(self) -> str:
        """The name by which jobs call it."""
        return self.definition.name

    def options(self, **options: Unpack[JobOptions]) -> Enqueuer[P, R]:
        """The same task for jobs that differ from its defaults: see `JobOptions`.

        Returns:
            an object with `enqueue` and `job`, good for any number of jobs.

        Raises:
            InvalidOption: an option is unknown, of the wrong type or out of range, or two contradict.
            InvalidName: a queue has a form that no backend accepts.
        """
        plan = Plan.of(self.definition, options)
        return Enqueuer(self._binding, plan, self._links, self._ids, self._clock)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"


class TaskFunction(Task[P, R], Generic[P, R, Q, C]):
    """A task that is called like the function it was made of: (parameters `Q`) -> `C`."""

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> C:
        """Run the function itself, here and now; nothing is enqueued."""
        value: C = self.function(*args, **kwargs)
        return value
