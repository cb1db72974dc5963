"""S16, S17, S19: texts of strangers stay texts: in the log, in keys and in statements."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noria import ConfigError, InvalidName, InvalidOption, Noria
from noria.app.locate import locate
from noria.backends.contract import Query
from noria.errors import shown
from noria.model.names import check_name
from tests.support.workplace import Workplace, in_virtual_time

FORGED = "x\n2026-01-01 CRITICAL noria: all is lost\r\x1b[2J\x1b]0;title\x07\u2028\u202e"
SECRET = "hunter2"
QUOTES = [
    "'", '"', "''", "';--", "'; DROP TABLE jobs; --", '"; DELETE FROM jobs; --', "\\'", "%27", "1 OR 1=1",
    "') OR ('1'='1",
    "?", "?1", ":a", "@a", "$a", "%s", "{0}", "{self}", "[x]", "`x`", "/*", "*/", "x/**/y", "é'", "'||(SELECT 1)||'",
    "*", "_", "%", "a%b", "json('[]')", '["a"]', "\\u0000", "NULL", "null", "-- x", "$.a", "\U0001f600'",
]  # fmt: skip


@in_virtual_time
async def test_the_log_holds_no_line_that_others_wrote(caplog: pytest.LogCaptureFixture) -> None:
    """Without the program's own escaping: the library's records are one line each, but for its own stacks."""
    async with Workplace() as place:

        @place.app.task(attempts=1, timeout=1)
        async def stubborn(text: str) -> None:
            import asyncio

            for _ in range(2):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(30)

        @place.app.task(attempts=1)
        async def broken(text: str) -> None:
            raise ValueError(text)

        caplog.set_level(logging.DEBUG)
        session = await place.someone("broken", worker=FORGED, host=FORGED, ttl=0.5)
        await broken.enqueue(FORGED + SECRET)
        await place.take(session)
        await place.hire()
        await stubborn.enqueue(FORGED + SECRET)
        await broken.options(tags=["t"], correlation_id="c").enqueue(FORGED + SECRET)
        draft = broken.job(FORGED)
        await place.store.push(
            [replace(draft.new, task=FORGED), replace(broken.job("x").new, body=FORGED.encode())]
        )
        await place.pass_by(30)
        assert len(caplog.records) >= 2
        for record in caplog.records:
            text = record.getMessage()
            assert "all is lost" not in text or text.isprintable(), ascii(text)
            assert SECRET not in text, "arguments are not logged"


@given(st.text(max_size=200))
def test_what_a_message_quotes_is_one_printable_line(text: str) -> None:
    for value in (text, [text], text.encode("utf-8", "replace"), Shouting(text)):
        assert shown(value).isprintable()
        assert len(shown(value)) < 700


class Shouting:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@given(st.text(max_size=140))
def test_a_name_that_is_accepted_is_safe_in_keys_files_and_labels(text: str) -> None:
    """S17: and two names never become one, since none is changed."""
    try:
        name = check_name("queue", text)
    except InvalidName:
        return
    assert name == text
    assert name.isascii()
    assert not set(name) & set("/\\:*?[]{}#$%&'\"`|<>;, \t\r\n\0")
    assert name not in (".", "..")
    assert name[0] not in ".-"


@pytest.mark.parametrize("which", range(len(QUOTES)))
@in_virtual_time
async def test_quotes_in_any_text_change_nothing_but_that_text(which: int) -> None:
    """S19: through every field that takes free text, and back."""
    text = QUOTES[which]
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work(value: str, fails: bool = False) -> str:
            if fails:
                raise ValueError(value)
            return value

        bystanders = await place.app.enqueue_many(work.job("x") for _ in range(5))
        await place.hire(queues=("default",), name="w")
        given = work.options(unique=text, correlation_id=text, tags=[text])
        job = await given.enqueue(text)
        assert await job.result(10) == text
        status = await job.status()
        assert (status.unique_key, status.correlation_id, status.tags) == (text, text, (text,))
        for query in (Query(tag=text), Query(correlation_id=text)):
            found = await place.store.find(query)
            assert [record.id for record in found.records] == [job._id]
        failed = await work.enqueue(text, fails=True)
        with pytest.raises(Exception, match="ValueError"):
            await failed.result(10)
        error = (await failed.status()).error
        assert error is not None
        assert error.message == text
        later = await work.options(delay=100).enqueue("x")
        assert await later.cancel(text) == "cancelled"
        error = (await later.status()).error
        assert error is not None
        assert error.message == text
        dealt = await place.app.dead.discard([failed.id], text)
        assert dealt[0].state == "failed"
        assert [await each.result(10) for each in bystanders] == ["x"] * 5
        for door in (lambda: work.options(queue=text), lambda: place.app.find_task(text)):
            if text in ("_", "null", "NULL"):
                continue
            with pytest.raises((InvalidName, LookupError)):
                door()


# ---- applications are named on the command line only


@pytest.mark.parametrize(
    "reference",
    [
        "", ":", ":app", "a b:app", "../x:app", "..", "os;import sys", "x'y", "x.py", "/etc/passwd", "/etc/passwd:app",
        "../../etc/passwd.py", "\0.py", "a\0b", "a" * 10_000, "a" * 10_000 + ".py", ".x", "1x", "x-y:app", "http://x/y.py",
        "file:///x.py", "\ud800.py", "__main__:__dict__.x", "os:system", "os:path.join", "builtins:eval",
    ],
)  # fmt: skip
def test_a_reference_that_names_no_application_is_refused(
    reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S18, S22."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        locate(reference)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 11_000


def test_an_option_with_a_secret_in_its_value_does_not_repeat_it_at_length() -> None:
    app = Noria()

    @app.task
    async def work() -> None: ...

    with pytest.raises(InvalidOption) as caught:
        work.options(delay="x" * 10_000 + SECRET)  # type: ignore[arg-type]  # the point of this test
    assert SECRET not in str(caught.value)


def test_arguments_are_not_repeated_in_refusals() -> None:
    app = Noria()

    @app.task
    async def pay(card: int, note: dict[str, int]) -> None: ...

    wrong: list[Any] = [(SECRET, {}), (5, {"a": SECRET}), (5, SECRET), (5, {"a": {"b": SECRET}})]
    for args in wrong:
        with pytest.raises(ValueError, match="expected") as caught:
            pay.job(*args)
        assert SECRET not in str(caught.value)
