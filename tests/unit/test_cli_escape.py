"""Nothing that users wrote can steer a terminal, and no password is shown."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.cli.escape import cut, lines, one_line, without_secrets
from noria.cli.output import to_json
from noria.front.resources import embed

HOSTILE = "a\x1b[31m\r\nb\x07\x9b2J\u202e\u2028\ud800"


@given(st.text())
def test_a_line_is_always_one_printable_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert lines(text).replace("\n", "").isprintable()


def test_escapes_can_be_read() -> None:
    assert one_line("a\tb\n\x1b[0m é 漢") == "a\\tb\\n\\x1b[0m é 漢"
    assert one_line("\u202e\U000e0001") == "\\u202e\\U000e0001"


def test_breaks_stay_where_many_lines_are_wanted() -> None:
    assert lines("a\n\tb\x00") == "a\n    b\\x00"


@given(st.text(), st.integers(1, 80))
def test_cut_keeps_its_width(text: str, width: int) -> None:
    assert len(cut(text, width)) <= max(width, 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:geheim@host/0", "redis://***@host/0"),
        ("at postgresql://me:p%40ss@h:5/db?x=1 now", "at postgresql://***@h:5/db?x=1 now"),
        ("amqp://me:a:b@c@host", "amqp://***@host"),
        ("https://h/x?token=abc&y=2", "https://h/x?token=***&y=2"),
        ("sqlite:///noria.db", "sqlite:///noria.db"),
        ("as in redis://:PASSWORD@HOST", "as in redis://:PASSWORD@HOST"),
        ("redis://USER:PASSWORD@HOST:PORT/DATABASE, and", "redis://USER:PASSWORD@HOST:PORT/DATABASE, and"),
        ("redis://:PASSWORD@more@host", "redis://***@host"),
        ("redis://:PASSWORD1@host", "redis://***@host"),
        ("redis://me:PASSWORD@host", "redis://***@host"),
        ("mail a@b.c", "mail a@b.c"),
    ],
)
def test_credentials_of_urls_are_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_json_says_the_same_and_steers_no_terminal(text: str) -> None:
    shown = to_json({"text": text})
    assert msgspec.json.decode(shown) == {"text": text}
    assert not any(char in shown for char in "\n\r\x1b\x7f\x9b\u202e\u2028")


def test_stored_json_is_embedded_as_it_is() -> None:
    assert to_json(embed(b'{"big": 123456789012345678901234567890,\n "f": 1.50}', "json")) == (
        '{"big":123456789012345678901234567890,"f":1.50}'
    )


@pytest.mark.parametrize(
    ("body", "codec"), [(b"{broken", "json"), (b"\xff\xfe", "json"), (b"\x81", "msgpack")]
)
def test_stored_bytes_that_are_no_json_are_base64(body: bytes, codec: str) -> None:
    shown = msgspec.json.decode(to_json(embed(body, codec)), type=dict)
    assert shown["codec"] == codec
    assert msgspec.convert(shown["base64"], bytes) == body
