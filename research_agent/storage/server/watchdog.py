"""Locks and process checks of the private PostgreSQL server, and the processes that keep it up or stop it.

The watchdog is this file run by path in a process of its own: it imports nothing of the package, so it
starts fast, stays small, and depends neither on the caller's working directory nor on its import path.
So is the keeper, a client on behalf of visitors who hold no lock: a ``psql`` that somebody starts by hand.

Five files in the root directory are kernel locks; whoever dies, however, lets go of them:

* ``start.lock``: exclusive while one process initialises, starts or attaches.
* ``clients.lock``: shared by every client process; exclusive by the watchdog while it stops the server.
* ``watchdog.lock``: exclusive for the life of the watchdog.
* ``keeper.lock``: exclusive for the life of the keeper; touched to make it wait anew.
* ``server.lock``: inherited by initdb, the postmaster and all their children; free means none of them lives.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

if sys.platform != "win32":
    import fcntl

START_LOCK = "start.lock"
CLIENTS_LOCK = "clients.lock"
WATCHDOG_LOCK = "watchdog.lock"
KEEPER_LOCK = "keeper.lock"
SERVER_LOCK = "server.lock"
DATA = "data"
KEEP = "--keep"  # makes the program a keeper

_STOP_SECONDS = 60.0
_KILL_SECONDS = 20.0
# How many others are there, and how many have come so far: a visit can be shorter than the time between two looks.
_VISITS = """select (select count(*) from pg_stat_activity a where a.datid = d.datid and usesysid is not null
and pid <> pg_backend_pid()), sessions from pg_stat_database d where datname = current_database()"""


def open_lock(path: Path) -> io.FileIO:
    """The lock file, made when missing, as a close-on-exec file; closing it lets go of what it holds."""
    return io.FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")


def try_lock(path: Path) -> io.FileIO | None:
    """The file, locked exclusively, or None when somebody else holds it."""
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def lock_shared(path: Path) -> io.FileIO:
    """The file, locked shared; waits until nobody holds it exclusively."""
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.utime(lock.fileno())  # tells a lingering watchdog that somebody came, even if he has left again
    except BaseException:
        lock.close()
        raise
    return lock


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file exclusively; waits for others."""
    with open_lock(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class PidFile:
    """What PostgreSQL's ``postmaster.pid`` says; it can be stale, cut short or plain wrong."""

    pid: int
    socket_dir: str
    ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    """The content of ``postmaster.pid``, or None when it is missing or names no process."""
    try:
        lines = os.fsdecode((data / "postmaster.pid").read_bytes()).split("\n")
        pid = int(lines[0])
    except (OSError, ValueError):
        return None
    if not 0 < pid < 2**31:
        return None
    lines += [""] * (8 - len(lines))
    return PidFile(pid=pid, socket_dir=lines[4], ready=lines[7].strip() == "ready")


def live_postmaster(data: Path) -> psutil.Process | None:
    """The process ``postmaster.pid`` names, if it lives and really serves this data directory.

    A zombie is not alive, and a process that merely got the same number later is not ours.
    """
    import psutil

    record = read_pid_file(data)
    if record is None:
        return None
    try:
        process = psutil.Process(record.pid)
        if process.status() == psutil.STATUS_ZOMBIE or str(data) not in process.cmdline():
            return None
    except psutil.Error:
        return None
    return process


def stop_server(data: Path) -> None:
    """Fast shutdown (clients are cut off, data are flushed); an immediate one if that takes too long."""
    for number, patience in ((signal.SIGINT, _STOP_SECONDS), (signal.SIGQUIT, _KILL_SECONDS)):
        process = live_postmaster(data)
        if process is None:
            return
        _send(process, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if _is_gone(process):
                return
            time.sleep(0.05)


def _send(process: psutil.Process, number: signal.Signals) -> None:
    import psutil

    with contextlib.suppress(psutil.Error):
        process.send_signal(number)  # psutil refuses when the pid was reused meanwhile


def _is_gone(process: psutil.Process) -> bool:
    import psutil

    try:
        return not process.is_running() or bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def watch(root: Path, linger: float, watchdog_lock: int) -> None:
    """Block until no client process has been there for ``linger`` seconds, then stop the server."""
    import psutil  # noqa: F401  now: at the end the environment it lives in may have been deleted

    clients = open_lock(root / CLIENTS_LOCK)
    while True:
        fcntl.flock(clients, fcntl.LOCK_EX)  # granted once the last client is gone
        seen = os.fstat(clients.fileno()).st_mtime_ns
        fcntl.flock(clients, fcntl.LOCK_UN)
        time.sleep(linger)
        try:
            fcntl.flock(clients, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        if os.fstat(clients.fileno()).st_mtime_ns == seen:
            break
    stop_server(root / DATA)
    # In this order: the next client, let in by the client lock, must find the watchdog's place free.
    os.close(watchdog_lock)
    clients.close()


def keep(root: Path, quiet: float, dsn: str) -> None:
    """Block until the server has had no session but ours for ``quiet`` seconds. The caller's lock keeps it up."""
    import psycopg

    lock = _become_keeper(root)
    if lock is None:
        return
    connection = None
    before: object = None
    deadline = 0.0
    while True:
        others, state = 0, (os.fstat(lock.fileno()).st_mtime_ns, 0)
        try:
            if connection is None or connection.closed:
                connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
            others, came = connection.execute(_VISITS).fetchone() or (0, 0)
            state = (state[0], came)
        except psycopg.Error:
            connection = None  # it is down, or will not have us: nobody else gets in either
        if others or state != before:
            before, deadline = state, time.monotonic() + quiet
        elif time.monotonic() >= deadline:
            return
        time.sleep(min(5.0, quiet / 10))


def _become_keeper(root: Path) -> io.FileIO | None:
    """The keeper's lock, or None when there is a keeper, who now waits anew."""
    path = root / KEEPER_LOCK
    lock = try_lock(path)
    if lock is None:
        os.utime(path)
        time.sleep(1)  # had he just made up his mind to leave, he is gone by then
        lock = try_lock(path)
    return lock


def main(arguments: list[str]) -> None:
    """``watchdog.py ROOT LINGER FD``: FD is the inherited descriptor that holds ``watchdog.lock``.

    ``watchdog.py --keep ROOT QUIET DSN`` is the keeper; it has inherited a shared ``clients.lock``.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends by itself soon after the last client
    if arguments[0] == KEEP:
        _, root, quiet, dsn = arguments
        keep(Path(root), float(quiet), dsn)
        return
    root, linger, descriptor = arguments
    watch(Path(root), float(linger), int(descriptor))


if __name__ == "__main__":
    main(sys.argv[1:])
