"""The worker: leases jobs, runs them, and settles each only after its work is done."""

from noria.worker.context import Context, Stopped
from noria.worker.drain import Exit
from noria.worker.ending import WorkerFault
from noria.worker.outside import Outside, real_outside
from noria.worker.settings import WorkerSettings
from noria.worker.worker import Worker

__all__ = ["Context", "Exit", "Outside", "Stopped", "Worker", "WorkerFault", "WorkerSettings", "real_outside"]
