"""What `noria doctor` asks of the machine: library versions, limits, folders and disks."""

from __future__ import annotations

import os
import resource
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import apsw

from noria.app.config import runtime_folder
from noria.backends.contract import WorkerLine
from noria.cli.escape import one_line
from noria.cli.finding import Finding, failed, note, ok, warning
from noria.cli.quantities import count, size
from noria.errors import ConfigError
from noria.worker.journal import journal_name
from noria.worker.outside import JOURNALS

OLDEST_SQLITE: Final = (3, 51, 3)
"""Older ones can corrupt a WAL file that several connections write."""

_MIB: Final = 1024 * 1024
_JUST_OPENED: Final = 2.0
"""Seconds within which a worker may not have made its run journal yet."""
_NETWORK: Final = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")


def check_sqlite(version: str) -> Finding:
    """The SQLite library that this process uses."""
    least = ".".join(map(str, OLDEST_SQLITE))
    if tuple(int(part) for part in version.split(".")[:3]) >= OLDEST_SQLITE:
        return ok("sqlite", f"version {version}")
    return failed(
        "sqlite", f"version {version} can corrupt a WAL file", f"pip install -U apsw: at least {least}"
    )


def check_files(soft: int) -> Finding:
    """How many files and sockets this process may have open."""
    if soft == resource.RLIM_INFINITY or soft >= 1024:
        return ok("open files", f"{soft:,} allowed" if soft >= 0 else "no limit")
    return warning("open files", f"only {soft:,} allowed", "ulimit -n 4096, or LimitNOFILE= in the unit file")


def check_disk(folder: Path, free: int, total: int) -> Finding:
    """The room that is left where the store is."""
    text = f"{size(free)} of {size(total)} free at {folder}"
    fix = "free some space; when the disk is full, nothing can be enqueued or settled"
    if free < 100 * _MIB:
        return failed("disk", text, fix)
    if free < 1024 * _MIB or free < total * 0.03:
        return warning("disk", text, fix)
    return ok("disk", text)


def check_mount(file: Path, mounts: str) -> Finding | None:
    """Whether the store is on a network file system. `mounts`: as in /proc/mounts."""
    rows = [line.split(" ")[1:3] for line in mounts.splitlines() if line.count(" ") >= 2]
    above = [(point, kind) for point, kind in rows if file.is_relative_to(_unescaped(point))]
    if not above:
        return None
    point, kind = max(above, key=lambda row: len(row[0]))
    if kind in _NETWORK:
        return failed(
            "file system", f"{point} is {kind}", "move the store to a local disk: WAL needs shared memory"
        )
    return ok("file system", f"{kind} at {_unescaped(point)}")


def _unescaped(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def check_modes(file: Path, mode: int, owner: int, me: int) -> Finding:
    """Who may read and write the store."""
    text = f"{stat.filemode(mode)} {file}"
    if mode & 0o022:
        return failed("permissions", f"{text}: others may write it", f"chmod go-w {file}")
    if owner not in (me, 0) and me != 0:
        return warning("permissions", f"{text}: it belongs to user {owner}", f"chown it to user {me}")
    if mode & 0o044:
        return note(
            "permissions", f"{text}: others may read arguments and results; chmod 600 if they should not"
        )
    return ok("permissions", text)


def check_runtime(store: Path) -> Finding:
    """The private folder of sockets and journals."""
    try:
        return ok("runtime folder", str(runtime_folder(store)))
    except ConfigError as error:
        return failed(
            "runtime folder", str(error), "remove it, or set NORIA_RUNTIME_DIR to a folder of your own"
        )


def check_meeting(store: Path, workers: Sequence[WorkerLine], now: float) -> list[Finding]:
    """Whether live workers use the same private folder: each keeps its run journal there."""
    try:
        journals = runtime_folder(store) / JOURNALS
    except ConfigError:
        return []
    settled = [
        each for each in workers if each.card.language == "python" and each.opened < now - _JUST_OPENED
    ]
    apart = [each for each in settled if not (journals / journal_name(each.session)).exists()]
    if apart:
        names = ", ".join(sorted({one_line(each.card.worker) or "unnamed" for each in apart})[:3])
        text = f"{count(len(apart), 'worker')} with another runtime folder than {journals.parent}: {names}"
        fix = "set the same NORIA_RUNTIME_DIR for all processes of the store; until then each wake-up waits for a poll"
        return [warning("meeting", text, fix)]
    return [ok("meeting", "live workers use this runtime folder")] if settled else []


def may_be_made(store: Path) -> bool:
    """Whether a store that is not there has a folder to be made in."""
    file = Path(os.path.realpath(store))
    return file.parent.is_dir() and not file.is_symlink()


def check_host(store: Path) -> Iterator[Finding]:
    """Everything about the machine, for a store at this place."""
    yield check_sqlite(apsw.sqlite_lib_version())
    yield check_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    yield check_runtime(store)
    file = Path(os.path.realpath(store))
    folder = file.parent
    if file.is_symlink():
        yield failed("folder", f"the link {store} leads nowhere", "mend the link, or name the file itself")
        return
    if not folder.is_dir():
        led = f", to which the link {store} leads" if store.is_symlink() else ""
        yield failed("folder", f"there is no folder {folder}{led}", f"mkdir -p {folder}")
        return
    if not os.access(folder, os.W_OK):
        yield failed("folder", f"{folder} cannot be written", "the store needs to make files beside itself")
    usage = shutil.disk_usage(folder)
    yield check_disk(folder, usage.free, usage.total)
    mounts = Path("/proc/mounts")
    found = check_mount(file, mounts.read_text()) if mounts.exists() else None
    if found is not None:
        yield found
    if store.exists():
        facts = store.stat()
        yield check_modes(store, facts.st_mode, facts.st_uid, os.getuid())
