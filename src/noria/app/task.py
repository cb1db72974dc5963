"""A task as its producers use it: called like its function, or enqueued as a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, Unpack

from msgspec import UNSET
from msgspec.structs import replace

from noria.app.binding import Binding
from noria.app.job import Draft, Job
from noria.app.link import Links
from noria.app.onion import Layers
from noria.app.options import JobOptions
from noria.app.plan import Plan
from noria.app.providers import Need
from noria.app.signature import Signature
from noria.app.ties import NO_TIES, Families, Ties, check_group_known, grouped, key_by, tied
from noria.app.uniqueness import check_arguments, check_key_known
from noria.clock import Clock
from noria.errors import NotRunning
from noria.ids import Entropy, IdSource
from noria.model.job import NewJob
from noria.model.task import TaskDef

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
C = TypeVar("C")


class Defined(NamedTuple):
    """Everything about a task but where it is at home."""

    definition: TaskDef
    binding: Binding
    needs: Mapping[str, Need]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return self.binding.signature.shape.__struct_fields__


@dataclass(slots=True, kw_only=True)
class Home:
    """What tasks need of the application that they belong to."""

    links: Links
    ids: IdSource
    clock: Clock
    entropy: Entropy
    layers: Layers
    families: Families
    weights: Mapping[str, int]
    """Of the queues that it declares."""


class Seat:
    """Where a task stands: what is decided about it, and its application once it has one.

    Attributes:
        defined: what is decided.
        home: None while it belongs to a router that no application has included.
    """

    __slots__ = ("defined", "home")

    def __init__(self, defined: Defined, home: Home | None) -> None:
        self.defined = defined
        self.home = home


class Enqueuer(Generic[P, R]):
    """Makes jobs of one task, all by the same options.

    Args:
        seat: the task.
        options: what differs from the task's defaults.
    """

    def __init__(self, seat: Seat, options: Mapping[str, Any]) -> None:
        self._seat = seat
        self._options = options
        plan = Plan.of(seat.defined.definition, options)
        check_arguments(seat.defined.definition.name, options.get("unique"), seat.defined.fields)
        # An application that includes a router may change the name and the queue of its tasks.
        self._plan = plan if seat.home is not None else None

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Enqueue a job. On return it is stored, and will end in exactly one recorded outcome.

        Takes what the function takes, without its context.

        Returns:
            the job; its `enqueued` says what was done: "created", or "existing" if a job with the same `unique` key, or
            the same `id`, stands for it, or what else its `unique` asks for.

        Raises:
            InvalidArguments: the arguments do not fit the signature; `field` names the parameter.
            TooLarge: they are more than 1 MiB as JSON, or nested more than 64 levels deep.
            Conflict: the `id` is that of another task's job; nothing was stored.
            DuplicateJob: another job has its unique key, and `unique` says that this is an error.
            NotRunning: the application is not open on this event loop.
            Unavailable: the backend could not be reached; nothing was stored.
            Unknown: the backend did not answer; the job may be stored. Enqueue a `job(...)` with
                `app.enqueue_many` to be able to repeat it safely.
        """
        draft = self._draft(args, kwargs)
        [receipt] = await draft.links.here().push_one(draft.new)
        return draft.job(receipt)

    def job(self, *args: P.args, **kwargs: P.kwargs) -> Draft[R]:
        """Describe a job for `app.enqueue_many`. Its arguments are checked and its id is given now.

        Raises:
            InvalidArguments, TooLarge: as `enqueue`.
        """
        return self._draft(args, kwargs)

    def follow(self, after: tuple[str, ...], *, many: bool) -> Draft[R]:
        """Describe a job that waits for others, and gets their values as its first argument: for `chain` and `gather`.

        Args:
            after: the ids of those jobs, as hex.
            many: it gets a list of them, in order; else the value of the only one.

        Raises:
            InvalidOption: the task takes no argument for that, or needs others besides; or its group or unique key is
                made of arguments, which are not known yet.
        """
        home, defined = self._home(), self._seat.defined
        feed, plan = defined.binding.first_alone(), self._planned()
        if plan.group is UNSET:
            check_group_known(defined.definition, feed)
        check_key_known(defined.definition.name, plan.unique, feed)
        new = plan.job(b"{}", home.ids, home.clock)
        extras = replace(new.extras, after=after, feed=feed, feed_list=many)
        return self._sealed(replace(new, extras=extras), home, (), {})

    def _draft(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draft[R]:
        home = self._home()
        body = self._seat.defined.binding.pack(args, kwargs)
        return self._sealed(self._planned().job(body, home.ids, home.clock), home, args, kwargs)

    def _home(self) -> Home:
        if self._seat.home is None:
            name = self._seat.defined.definition.name
            raise NotRunning(
                f"task {name!r} belongs to a router that no application has included yet: app.include(router)"
            )
        return self._seat.home

    def _planned(self) -> Plan:
        if self._plan is None:
            self._plan = Plan.of(self._seat.defined.definition, self._options)
        return self._plan

    def _sealed(self, new: NewJob, home: Home, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draft[R]:
        ties = home.families.ties_of(self._seat.defined.definition)
        if ties is not NO_TIES or self._planned().group is not UNSET:
            new = self._tied(new, ties, home.families, args, kwargs)
        if home.layers.stamps:
            new = replace(new, extras=home.layers.stamp(new.task, new.queue, new.extras))
        return Draft(new, home.links, home.clock, self._seat.defined.binding.unpack_result)

    def _tied(
        self, new: NewJob, ties: Ties, families: Families, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> NewJob:
        """The job with its group and needs: as the options say, or else its arguments."""
        if (group := self._planned().group) is not UNSET:
            if group is None:
                return grouped(new, ties, "", None)
            return grouped(new, ties, group.family, group.key, families.rule(group.family))
        by = self._seat.defined.definition.group
        if by is None or isinstance(by[1], str):
            return tied(new, ties)
        return grouped(new, ties, by[0], key_by(by[1], new, by[0], args, kwargs))


class Task(Enqueuer[P, R]):
    """A declared task. `P` are the parameters of its jobs, `R` is what they return.

    Attributes:
        function: the function itself.
        seat: where it stands in its application; for what makes workers.
    """

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat, {})
        self.seat = seat
        self.function: Callable[..., Any] = seat.defined.definition.handler
        self.__name__ = getattr(self.function, "__name__", self.name)
        self.__doc__ = self.function.__doc__
        self.__module__ = self.function.__module__
        self.__wrapped__ = self.function

    @property
    def definition(self) -> TaskDef:
        """Everything that was decided when it was declared, and when its router was included."""
        return self._seat.defined.definition

    @property
    def name(self) -> str:
        """The name by which jobs call it."""
        return self._seat.defined.definition.name

    @property
    def signature(self) -> Signature:
        """The types of its arguments and result."""
        return self._seat.defined.binding.signature

    @property
    def check_body(self) -> Callable[[bytes], None]:
        """Sees whether arguments as JSON, by name, fit; raises `InvalidArguments`."""
        return self._seat.defined.binding.check

    def options(self, **options: Unpack[JobOptions]) -> Enqueuer[P, R]:
        """The same task for jobs that differ from its defaults: see `JobOptions`.

        Returns:
            an object with `enqueue` and `job`, good for any number of jobs.

        Raises:
            InvalidOption: an option is unknown, of the wrong type or out of range, or two contradict.
            InvalidName: a queue has a form that no backend accepts.
        """
        return Enqueuer(self._seat, options)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"


class TaskFunction(Task[P, R], Generic[P, R, Q, C]):
    """A task that is called like the function it was made of: (parameters `Q`) -> `C`."""

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> C:
        """Run the function itself, here and now; nothing is enqueued."""
        value: C = self.function(*args, **kwargs)
        return value
