"""For tests of applications and of Noria itself.

`run` runs an application in virtual time; `Proxy` stands in front of a server and breaks connections. `history`
records what every process does, `recording` records the calls of a backend, and `checker` reads a history and says
which promise was broken, by which job.
"""

from noria.testing.enqueued import Enqueued
from noria.testing.fleet import Stuck
from noria.testing.play import run
from noria.testing.proxy import Proxy
from noria.testing.trial import Trial
from noria.testing.virtual import Deadlock

__all__ = ["Deadlock", "Enqueued", "Proxy", "Stuck", "Trial", "run"]
