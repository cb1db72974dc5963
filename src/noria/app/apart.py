"""What an application refuses in a process that runs jobs for a worker, since each such process would do it again."""

from __future__ import annotations

from typing import Final, Literal

from noria.errors import ConfigError

Stage = Literal["", "imports", "works"]
"""Where such a process stands; "" in any other process."""

_GUARD: Final = 'keep what a program runs behind `if __name__ == "__main__":`'

_stage: Stage = ""


def enter(stage: Stage) -> None:
    """This process runs jobs for a worker, and has come to this stage."""
    global _stage
    _stage = stage


def refuse_opening() -> None:
    """See that the application is not opened by the import of its own program.

    Raises:
        ConfigError: it is.
    """
    if _stage == "imports":
        raise ConfigError(
            f"a process that runs jobs imports this program, and that opens the application; {_GUARD}"
        )


def refuse_worker() -> None:
    """See that no worker is made inside a worker's process, which would start processes in turn.

    Raises:
        ConfigError: it is.
    """
    if _stage:
        raise ConfigError(f"this process runs jobs for a worker, and cannot be a worker as well; {_GUARD}")
