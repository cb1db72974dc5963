"""What makes two failures one fault."""

from __future__ import annotations

import pytest

from noria.model.fingerprint import fingerprint
from noria.model.outcome import Failure

TRACE = """Traceback (most recent call last):
  File "/srv/shop/run.py", line 12, in main
    send()
  File "/srv/shop/mail.py", line {line}, in {function}
    raise {type}("{message}")
{type}: {message}
"""


def failed(
    message: str = "no route",
    type: str = "OSError",
    line: int = 7,
    function: str = "send",
    root: str = "/srv",
) -> Failure:
    trace = TRACE.format(message=message, type=type, line=line, function=function).replace("/srv", root)
    return Failure.of("exception", message, type=type, traceback=trace)


@pytest.mark.parametrize(
    "other", [failed(), failed(message="elsewhere"), failed(line=99), failed(root="/opt/releases/7")]
)
def test_one_fault_has_one_fingerprint(other: Failure) -> None:
    assert fingerprint("mail", other) == fingerprint("mail", failed())


@pytest.mark.parametrize(
    "other",
    [
        failed(type="ValueError"),
        failed(function="deliver"),
        Failure.of("timeout", "no route", type="OSError"),
    ],
)
def test_another_fault_has_another(other: Failure) -> None:
    assert fingerprint("mail", other) != fingerprint("mail", failed())


def test_a_fault_belongs_to_its_task() -> None:
    assert fingerprint("mail", failed()) != fingerprint("sms", failed())


def test_without_a_traceback_the_message_tells_as_far_as_it_does_not_vary() -> None:
    marks = [
        fingerprint("t", Failure.of("timeout", text)) for text in ("3 s on 'a'", "40 s on 'b'", "never ended")
    ]

    assert marks[0] == marks[1] != marks[2]


def test_it_is_short_and_the_same_for_ever() -> None:
    """It is stored: another release must group what this one has stored."""
    assert fingerprint("mail", failed()) == "74f512f19a9d"
