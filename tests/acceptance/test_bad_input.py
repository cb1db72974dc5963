"""Bad input at every door of the Python surface: a clear error that names the field, and nothing is stored."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from noria import (
    Backoff,
    ConfigError,
    InvalidArguments,
    InvalidInput,
    Noria,
    Retry,
    Snooze,
    TooLarge,
    UnknownTask,
    WorkerSettings,
)
from noria.errors import NoriaError
from noria.model.job import Extras
from tests.support.workplace import Workplace, in_virtual_time

HUGE = 10**10_000
"""So large that Python refuses to write it down."""


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Shouting:
    def __repr__(self) -> str:
        return "a\nb\x1b[31m" * 1_000


HOSTILE_NAMES: list[Any] = [
    "", " ", "a b", "a/b", "../a", "/etc/passwd", "a\0", "a\n", "a\x1b[0m", "é", "a:b", "a*", "a?", "[a]", "{a}",
    "#", "a#b", "$x", "-a", ".a", "..", "x" * 129, "a'b", 'a"b', "a;b", "a%b", "a\\b", "\ud800", "\u202eabc",
    "ａ", "٣", "CON ", "a\u200b", None, 5, 5.0, True, b"a", [], (), {}, object, HUGE, Unshowable(), Shouting(),
]  # fmt: skip


@dataclass
class Touchy:
    n: int
    broken: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.broken:
            raise SystemExit(3)


@dataclass
class Item:
    price: int
    name: str = ""


@pytest.fixture
async def app(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Noria]:
    """Open; whatever a test has tried, nothing was stored."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")

    @app.task
    async def buy(
        items: list[Item], note: str = "", *, when: datetime | None = None, extra: Any = None
    ) -> None: ...

    async with app:
        yield app
        counts = await app.backend.counts()
        assert counts.queues == {}, "something was stored"


def clear(error: BaseException) -> str:
    """The message: short, on one line, and without anything that a terminal would obey."""
    text = str(error)
    assert text.isprintable(), ascii(text)
    assert 0 < len(text) < 700
    return text


# ---- arguments


@pytest.mark.parametrize(
    ("args", "kwargs", "field"),
    [
        ((), {}, "items"),
        ((5,), {}, "items"),
        (("text",), {}, "items"),
        (([5],), {}, "items[0]"),
        (([{"price": "5"}],), {}, "items[0].price"),
        (([{"name": "x"}],), {}, "items[0].price"),
        (([Item("5")],), {}, "items[0].price"),  # type: ignore[arg-type]  # the point of this test
        (([], 5), {}, "note"),
        (([], None), {}, "note"),
        (([], "x", None), {}, None),
        (([],), {"nota": "x"}, "nota"),
        (([], "x"), {"note": "y"}, "note"),
        (([],), {"note": "\ud800"}, "note"),
        (([],), {"when": "tomorrow"}, "when"),
        (([],), {"when": 5}, "when"),
        (([],), {"extra": object()}, "extra"),
        (([],), {"extra": math.nan}, "extra"),
        (([],), {"extra": {"a": [math.inf]}}, "extra"),
        (([],), {"extra": HUGE}, "extra"),
        (([],), {"extra": Unshowable()}, "extra"),
        (([],), {"extra": {1j: 2}}, "extra"),
        (([Item(HUGE)],), {}, "items"),
    ],
    ids=lambda value: "",
)  # fmt: skip
async def test_arguments_that_do_not_fit_are_refused_by_name(
    app: Noria, args: Any, kwargs: Any, field: str | None
) -> None:
    for door in (app.find_task("buy").enqueue, app.find_task("buy").options(priority=1).enqueue):
        with pytest.raises(InvalidArguments) as caught:
            await door(*args, **kwargs)
        clear(caught.value)
        if field is not None:
            assert caught.value.field == field
    with pytest.raises(InvalidArguments):
        app.find_task("buy").job(*args, **kwargs)


def nested(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = [made]
    return made


async def test_arguments_too_large_or_too_deep_are_refused(app: Noria) -> None:
    buy = app.find_task("buy")
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    for extra, error in (
        ("x" * 1_048_576, TooLarge),
        (b"\0" * 2_000_000, TooLarge),
        (nested(70), TooLarge),
        (nested(100_000), InvalidArguments),
        (cyclic, InvalidArguments),
        ({"a": {"b": cyclic}}, InvalidArguments),
    ):
        with pytest.raises(error) as caught:
            await buy.enqueue([], extra=extra)
        assert caught.value.field == "extra"
        clear(caught.value)


async def test_one_wrong_draft_among_many_stores_none(app: Noria) -> None:
    draft = app.find_task("buy").job([])
    for wrong in ("x", 5, None, draft.new, Unshowable(), app.find_task("buy")):
        with pytest.raises(InvalidInput, match=r"drafts\[1\]") as caught:
            await app.enqueue_many([draft, wrong, draft])
        assert caught.value.field == "drafts"
        clear(caught.value)


# ---- names and options


@pytest.mark.parametrize("which", range(len(HOSTILE_NAMES)))
async def test_a_hostile_name_is_refused_at_every_door(app: Noria, which: int) -> None:
    """S17."""
    name = HOSTILE_NAMES[which]
    doors: list[Callable[[], Any]] = [
        lambda: app.find_task("buy").options(queue=name),
        lambda: app.task(name=name),
        lambda: app.task(queue=name),
        lambda: WorkerSettings(queues=(name,)),
        lambda: app.worker(queues=("ok", name)),
        lambda: app.find_task(name),
    ]
    if name != "":
        doors.append(lambda: WorkerSettings(name=name))
    for door in doors:
        with pytest.raises((InvalidInput, UnknownTask)) as caught:
            door()
        clear(caught.value)
    for ask in (lambda: app.dead.page(tasks=[name]), lambda: app.dead.page(queues=[name])):
        with pytest.raises(InvalidInput):
            await ask()


NUMBERS: list[Any] = [
    "5", b"5", None, True, math.nan, math.inf, -math.inf, -1, 1e300, HUGE, -HUGE, 1j, [], timedelta(seconds=5),
    object(), Unshowable(), Shouting(),
]  # fmt: skip
NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
FIRST, LAST = (timezone(timedelta(hours=hours)) for hours in (23, -23))
DATES: list[Any] = [
    NAIVE, NAIVE.replace(year=9999), datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=LAST),
    datetime(1, 1, 1, tzinfo=FIRST), datetime(1950, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00Z", None, [], HUGE,
    Unshowable(), NAIVE.date(),
]  # fmt: skip


@pytest.mark.parametrize(
    "option", ["delay", "priority", "attempts", "crashes", "timeout", "keep", "expires", "deadline"]
)
async def test_numbers_out_of_range_are_refused(app: Noria, option: str) -> None:
    for value in NUMBERS:
        if option == "keep" and value is None:
            continue
        if option == "priority" and value == -1:
            continue
        with pytest.raises(InvalidInput) as caught:
            app.find_task("buy").options(**{option: value})
        assert caught.value.field == option
        assert option in clear(caught.value)


@pytest.mark.parametrize("option", ["at", "expires", "deadline"])
async def test_dates_that_say_no_time_are_refused(app: Noria, option: str) -> None:
    for value in DATES:
        with pytest.raises(InvalidInput) as caught:
            await app.find_task("buy").options(**{option: value}).enqueue([])
        assert caught.value.field == option
        clear(caught.value)


@pytest.mark.parametrize("option", ["unique", "correlation_id", "tags", "retry", "id", "executor", "name"])
async def test_texts_and_others_of_the_wrong_form_are_refused(app: Noria, option: str) -> None:
    task_option = option in ("executor", "name")
    for value in [5, HUGE, b"x", "\0", "a\nb", "\ud800", "x" * 5_000, Unshowable(), Shouting(), {}, object]:
        with pytest.raises(NoriaError) as caught:
            (app.task if task_option else app.find_task("buy").options)(**{option: value})
        clear(caught.value)


@pytest.mark.parametrize("name", ["prioritty", "", "x" * 100_000, "a\nb", "\ud800", "__class__", "self"])
async def test_unknown_options_are_refused(app: Noria, name: str) -> None:
    for door in (app.find_task("buy").options, app.task, app.worker):
        with pytest.raises((InvalidInput, TypeError)) as caught:
            door(**{name: 1})
        if isinstance(caught.value, InvalidInput):
            clear(caught.value)
            assert caught.value.field == name


@pytest.mark.parametrize("field", ["base", "cap", "factor", "jitter", "never"])
def test_backoffs_are_checked(field: str) -> None:
    for value in [*NUMBERS, "full ", (5,), (ValueError(),), ("ValueError",)]:
        if field == "never" and value == []:
            continue
        with pytest.raises(InvalidInput) as caught:
            Backoff(**{field: value})
        assert caught.value.field == f"retry.{field}"
        clear(caught.value)


@pytest.mark.parametrize("which", range(len(NUMBERS)))
def test_control_exceptions_are_checked(which: int) -> None:
    value = NUMBERS[which]
    with pytest.raises(InvalidInput) as caught:
        Snooze(value)
    assert caught.value.field == "delay"
    clear(caught.value)
    if value is not None:
        with pytest.raises(InvalidInput) as caught:
            Retry(after=value)
        assert caught.value.field == "after"


@pytest.mark.parametrize(
    "setting",
    [
        "queues",
        "weights",
        "name",
        "concurrency",
        "threads",
        "ttl",
        "beat",
        "grace",
        "poll",
        "blocked_after",
        "burst",
    ],
)
async def test_worker_settings_are_checked(app: Noria, setting: str) -> None:
    for value in [*NUMBERS, "a b", b"x", {}, ["a"], 0.5j]:
        if (setting, value) in (("burst", True), ("name", "5"), ("weights", {})):
            continue
        for door in (WorkerSettings, app.worker):
            with pytest.raises(InvalidInput) as caught:
                door(**{setting: value})
            assert caught.value.field in (setting, "queue", "worker", "weight"), (value, caught.value)
            clear(caught.value)


async def test_an_observer_is_a_function(app: Noria) -> None:
    with pytest.raises(InvalidInput, match="observer"):
        app.worker(observer=5)  # type: ignore[arg-type]  # the point of this test


# ---- ids, waits and notes


NO_IDS: list[Any] = [
    "", "5", "x" * 100_000, 5, HUGE, None, b"0" * 16, "../" * 12, "\ud800", [], Unshowable(), Shouting(),
]  # fmt: skip


@pytest.mark.parametrize("which", range(len(NO_IDS)))
async def test_what_is_no_id_is_refused(app: Noria, which: int) -> None:
    id = NO_IDS[which]
    for door in (app.job, lambda id: app.find_task("buy").options(id=id)):
        with pytest.raises(InvalidInput) as caught:
            door(id)
        assert caught.value.field == "id"
        clear(caught.value)
    for ask in (lambda: app.dead.retry([id]), lambda: app.dead.discard([id])):
        with pytest.raises(InvalidInput):
            await ask()
    if id is not None:
        with pytest.raises(InvalidInput):
            await app.dead.page(id)


async def test_waits_and_notes_are_checked(app: Noria) -> None:
    job = app.job("0190a0a0-0000-7000-8000-000000000000")
    for timeout in ("5", math.nan, True, [], Unshowable(), 1j):
        with pytest.raises(InvalidInput, match="timeout"):
            await job.result(timeout)  # type: ignore[arg-type]  # the point of this test
    for note in (5, None, b"x", HUGE):
        with pytest.raises(InvalidInput, match="reason"):
            await job.cancel(note)  # type: ignore[arg-type]  # the point of this test
        with pytest.raises(InvalidInput, match="note"):
            await app.dead.discard([job.id], note)  # type: ignore[arg-type]  # the point of this test
    for limit in ("5", 1.5, None):
        with pytest.raises(InvalidInput, match="limit"):
            await app.dead.page(limit=limit)  # type: ignore[arg-type]  # the point of this test
    with pytest.raises(InvalidInput, match="list of names"):
        await app.dead.page(tasks="buy")


@in_virtual_time
async def test_a_note_of_any_text_is_kept_as_far_as_it_can_be() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        job = await work.enqueue()
        with pytest.raises(InvalidInput, match="reason"):
            await job.cancel("\ud800")
        for note in ("x" * 1_000_000, "a\0b", "a\nb", "'; --"):
            job = await work.enqueue()
            assert await job.cancel(note) == "cancelled"
            status = await job.status()
            assert status.error is not None
            assert len(status.error.message) <= 2_000


# ---- urls


SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        5, HUGE, "", "x", "://", "sqlite", "sqlite:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a/",
        "sqlite://host/a.db", "sqlite:///a.db#x", "sqlite:///a\0.db", "sqlite:///a.db?synchronous=maybe",
        "sqlite:///a.db?mode=ro", f"sqlite://user:{SECRET}@host/a.db", f"mysql://user:{SECRET}@host/db",
        f"mysql://user:{SECRET}/x@host/db", f"mysql://user:{SECRET}#x@host/db", f"mysql://user:{SECRET}?x@host/db",
        f"mysql://user:x@{SECRET}@host/db", f"postgresql://user:{SECRET}@host/db?x={SECRET}", f"redis://:{SECRET}@host/name",
        f"amqp://user:{SECRET}@host/%2f?ledger=redis://:{SECRET}@other", f"sqlite:///a.db?password={SECRET}",
        f"sqlite:///a.db?synchronous={'full'}&key={SECRET}", "http://[::1", f"http://user:{SECRET}@[::1", "\ud800://x",
        "a\nb://c", "sqlite:///" + "x" * 100_000 + "/", "file:///etc/passwd", "SQLITE:///",
    ],
    ids=lambda url: ascii(url)[:50] if isinstance(url, str) else type(url).__name__,
)  # fmt: skip
def test_a_url_that_names_no_store_is_refused_without_its_password(url: Any) -> None:
    """S16."""
    with pytest.raises(ConfigError) as caught:
        Noria(url)
    assert SECRET not in clear(caught.value)
    assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)
    app = Noria()
    app.url = url
    assert SECRET not in repr(app)


def test_an_application_shows_no_password() -> None:
    for url in (
        f"redis://:{SECRET}@host/0",
        f"redis://a:{SECRET}/b@host/0",
        f"pg://{SECRET}:{SECRET}@h/{'x'}?k={SECRET}",
    ):
        app = Noria()
        app.url = url
        assert SECRET not in repr(app)


# ---- raw jobs, as another program may push them


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"5", b"[]", b"[1,2]", b"{", b"}", b'{"items"',
        b"not json", b"\xff\xfe", b"\0", b"\xef\xbb\xbf{}",
        b'{"items":5}', b'{"items":[],"other":1}', b'{"items":[{"price":"5"}]}', b'{"items":[],"note":NaN}',
        b'{"items":[],"note":"\\ud800"}', b'{"items":[{"price":' + b"9" * 10_000 + b"}]}", b'{"items":[],"items":5}',
        b'{"items":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"[" * 1_000_000, b'{"items":[],"when":"2030-13-01"}',
        b'{"items":[],"note":"' + b"x" * 1_000_000, b'{"__class__":"os.system"}',
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix", b"!!python/object/apply:os.system ['true']",
    ],
    ids=lambda body: ascii(body[:30]),
)  # fmt: skip
@in_virtual_time
async def test_a_raw_body_that_does_not_fit_is_a_dead_letter_that_says_why(body: bytes) -> None:
    """D9: not tried again, and the worker goes on."""
    async with Workplace() as place:
        ran: list[Any] = []

        @place.app.task
        async def buy(items: list[Item], note: str = "", *, when: datetime | None = None) -> int:
            ran.append(items)
            return 5

        @place.app.task
        def think(items: list[Item]) -> int:
            ran.append(items)
            return 5

        await place.hire()
        for task in (buy, think):
            for codec in ("json", "msgpack", "pickle"):
                draft = task.job([])
                new = replace(draft.new, body=body, codec=codec)
                [receipt] = await place.store.push([new])
                if receipt.status == "rejected":
                    continue
                job = place.app.job(draft.id)
                with pytest.raises(Exception, match=r"task '(buy|think)'"):
                    await job.result(10)
                status = await job.status()
                assert (status.state, status.dead, status.starts) == ("failed", True, 1)
                assert status.error is not None
                assert (status.error.reason, status.error.type) == (
                    "arguments",
                    "noria.errors.InvalidArguments",
                )
                assert status.error.message.isprintable()
        assert ran == []
        assert await (await buy.enqueue([])).result(10) == 5


@in_virtual_time
async def test_a_class_of_the_users_that_breaks_in_decoding_is_data() -> None:
    """Also when it raises what is no `Exception`; the worker lives."""
    async with Workplace() as place:

        @place.app.task(attempts=2, retry=Backoff(base=0.1))
        async def work(touchy: Touchy) -> int:
            return touchy.n

        await place.hire()
        draft = work.job(Touchy(5))
        Touchy.broken = True
        [job] = await place.app.enqueue_many([draft])
        with pytest.raises(Exception, match=r"SystemExit|refused by its own class"):
            await job.result(30)
        Touchy.broken = False
        assert await (await work.enqueue(Touchy(6))).result(10) == 6


@pytest.mark.parametrize(
    "extras",
    [
        Extras(timeout=math.nan), Extras(timeout=-5), Extras(timeout=1e308), Extras(tags=("a\nb",) * 3),
        Extras(correlation_id="\x1b[31m"),
        # Types that no producer of ours writes.
        Extras(timeout="x"), Extras(tags=5),  # type: ignore[arg-type]  # the point of this test
    ],
    ids=str,
)  # fmt: skip
@in_virtual_time
async def test_raw_extras_of_any_kind_leave_the_worker_alive(extras: Extras) -> None:
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work() -> int:
            return 5

        await place.hire()
        draft = work.job()
        try:
            [receipt] = await place.store.push([replace(draft.new, extras=extras)])
        except NoriaError:
            receipt = None
        if receipt is not None and receipt.status == "created":
            await place.pass_by(10)
            assert (await place.app.job(draft.id).status()).final
        assert await (await work.enqueue()).result(10) == 5
