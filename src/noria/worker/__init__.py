"""The worker: leases jobs, runs them, and settles each only after its work is done."""

from noria.worker.context import Context, Stopped
from noria.worker.outside import Outside, real_outside
from noria.worker.settings import WorkerSettings
from noria.worker.worker import Exit, Worker, WorkerFault

__all__ = ["Context", "Exit", "Outside", "Stopped", "Worker", "WorkerFault", "WorkerSettings", "real_outside"]
