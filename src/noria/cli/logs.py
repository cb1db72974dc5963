"""The log of a worker: one line a record, safe to show, and never in the worker's way."""

from __future__ import annotations

import logging
from typing import Final, Literal

import msgspec

from noria.cli.escape import one_line, without_secrets
from noria.cli.writer import LineWriter
from noria.clock import moment

Format = Literal["text", "json"]
_FLUSH: Final = 2.0


class Text(logging.Formatter):
    """A record as a line for people. Control characters and line breaks are written as escapes.

    Args:
        child: which of a supervisor's processes this is; 0 if there is none.
    """

    def __init__(self, child: int = 0) -> None:
        super().__init__()
        self._child = f"[{child}] " if child else ""

    def format(self, record: logging.LogRecord) -> str:
        """`2026-11-30T08:00:00.000Z INFO [2] noria.worker: message`."""
        text = f"{moment(record.created)} {record.levelname} {self._child}{record.name}: {_message(record)}"
        trace = _trace(self, record)
        return one_line(without_secrets(f"{text}\n{trace}" if trace else text))


class Json(logging.Formatter):
    """A record as a JSON object on one line.

    Args:
        child: as for `Text`.
    """

    def __init__(self, child: int = 0) -> None:
        super().__init__()
        self._child = child

    def format(self, record: logging.LogRecord) -> str:
        """With `at`, `level`, `logger`, `message` and, if there are such, `child` and `traceback`."""
        fields: dict[str, str | None] = {
            "at": moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(_message(record)),
            "thread": record.threadName,
        }
        if self._child:
            fields["child"] = str(self._child)
        trace = _trace(self, record)
        if trace:
            fields["traceback"] = without_secrets(trace)
        return msgspec.json.encode({key: _clean(value) for key, value in fields.items()}).decode()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - a wrong format string must not cost the record
        return f"{record.msg!r:.500} (its arguments do not fit: {type(error).__name__})"


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    trace = formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
    return "\n".join(part for part in (trace, record.stack_info or "") if part)


def _clean(text: str | None) -> str | None:
    """Line breaks are JSON's own affair; what a terminal would obey is escaped as in the text format."""
    if text is None:
        return None
    return "\n".join(one_line(line) for line in text.split("\n"))


class LineHandler(logging.Handler):
    """Hands finished lines to a `LineWriter`; never blocks, never raises."""

    def __init__(self, writer: LineWriter) -> None:
        super().__init__()
        self.writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Format the record here and now, since its arguments may change; write it later."""
        try:
            self.writer.write(self.format(record))
        except Exception as error:  # noqa: BLE001 - an object that cannot be shown must not break who logs it
            self.writer.write(f"a record of {one_line(record.name)} cannot be shown: {type(error).__name__}")


def set_up(format: Format, *, level: int, file: int = 2, child: int = 0) -> LineHandler:
    """Send everything that is logged in this process through one bounded writer; warnings too.

    Args:
        child: which of a supervisor's processes this is; 0 if there is none.
    """
    handler = LineHandler(LineWriter(file))
    handler.setFormatter(Json(child) if format == "json" else Text(child))
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(True)
    return handler


def flush(handler: LineHandler) -> None:
    """Write what waits; give up after two seconds."""
    handler.writer.close(_FLUSH)


def level(*, verbose: bool, quiet: bool) -> int:
    """How much is logged."""
    if verbose:
        return logging.DEBUG
    return logging.WARNING if quiet else logging.INFO
