"""What the environment tells a peer's processes: which server, whose numbers, how much at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from bench.tally import Tally

URL: Final = os.environ["NORIA_URL"]
"""The server of this measurement; Noria calls it so, and peers get the same one."""
RESULTS: Final = os.environ.get("BENCH_RESULTS") != "0"
"""Whether results are kept."""
SLOTS: Final = int(os.environ.get("BENCH_SLOTS", "0"))
"""How many jobs run at once; 0: as the peer does best with jobs that do nothing."""
CONNECTIONS: Final = 1_000
"""Connections that a pool may open where a peer would run out of them by default and lose or repeat jobs."""
NAP: Final = 0.1
"""Seconds that a sleeping job sleeps."""

tally = Tally(Path(os.environ["BENCH_TALLY"]) if "BENCH_TALLY" in os.environ else None)
