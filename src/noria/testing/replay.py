"""Makes a simulated run again, and says what is wrong with it:

    python -m noria.testing.replay SEED [--calm] [--call NUMBER=HOW ...] [--history]

A run is made by its seed alone. `--calm` leaves out everything that goes wrong; `--call` has the call of the store with
this number in the whole run go wrong in one of the ways of `noria.testing.wire`; `--history` prints every event.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

import msgspec

from noria.testing.scenario import calm, draw
from noria.testing.simulation import burial, simulate
from noria.testing.wire import TROUBLES, Trouble


def main(arguments: Sequence[str]) -> int:
    """Make one run; 1 if it has findings."""
    asked = _parser().parse_args(arguments)
    options = calm(asked.seed) if asked.calm else draw(asked.seed)
    options = msgspec.structs.replace(options, script=tuple(asked.call))
    # Workers tell of what befalls them, which is told better by the history.
    logging.disable(logging.CRITICAL)
    with burial():
        run = simulate(options)
    lines = [msgspec.json.encode(event).decode() for event in run.events] if asked.history else []
    sys.stdout.write("\n".join([*lines, run.report(), f"digest: {run.digest}", ""]))
    return 1 if run.verdict.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m noria.testing.replay", description="Make a run again.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--calm", action="store_true", help="leave out everything that goes wrong")
    parser.add_argument("--call", action="append", default=[], type=_call, metavar="NUMBER=HOW")
    parser.add_argument("--history", action="store_true", help="print every event")
    return parser


def _call(text: str) -> tuple[int, Trouble]:
    number, _, how = text.partition("=")
    for trouble in TROUBLES:
        if trouble == how:
            return int(number), trouble
    raise argparse.ArgumentTypeError(f"{text!r} is no NUMBER=HOW, where HOW is one of {', '.join(TROUBLES)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
