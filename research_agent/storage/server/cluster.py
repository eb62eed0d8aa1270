"""The files of a private PostgreSQL cluster: making it, its passwords, its settings, its directories.

As root we own the root directory and never write below ``data/``, where the service account, which owns
that, could plant links: passwords and configuration lie beside it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import sys
from pathlib import Path

from research_agent.errors import StorageError
from research_agent.storage.server import binaries
from research_agent.storage.server.binaries import Account, Binaries

if sys.platform != "win32":
    import pwd

DATABASE = "research"
PORT = 5432  # only a part of the socket's name; nothing listens on TCP
LOG = "server.log"

_SECRETS = "secrets.json"
_SOCKET = f".s.PGSQL.{PORT}"
_SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107  # sizeof(sun_path) - 1
_INIT_SECONDS = 300.0
_LOW_DISK_BYTES = 20_000_000  # a WAL segment (16 MB) and a little

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "50",
    "shared_buffers": "32MB",
    "huge_pages": "off",
    "dynamic_shared_memory_type": "mmap",  # works with a tiny or missing /dev/shm
    "max_worker_processes": "2",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "1",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "temp_file_limit": "2GB",  # of one session: a query that sorts the world must not fill the disk
    "jit": "off",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_checkpoints": "off",
    "log_min_messages": "log",  # errors of single statements are their clients' business
    "log_min_error_statement": "panic",  # statements can hold secrets
}


def major_version(data: Path) -> int | None:
    """The PostgreSQL version that made the cluster; None when there is none yet. Raises ``StorageError``."""
    if not data.exists():
        return None
    try:
        return int((data / "PG_VERSION").read_text(encoding="ascii").split(".")[0])
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise StorageError(
            f"{data} is no PostgreSQL database, its file PG_VERSION is missing or damaged: move it away, or "
            "set RESEARCH_DATA_DIR to a new directory"
        ) from error


def create(root: Path, data: Path, chosen: Binaries, account: Account | None, server_lock: io.FileIO) -> None:
    """Make the cluster with both roles and the database. Raises ``StorageError``.

    It is built beside its final place and renamed, so what exists is complete. The programs inherit
    ``server_lock``: an initdb that outlives its killed parent is waited for before its remains are removed.
    """
    _check_user_has_a_name(account)
    for leftover in root.glob("init-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    building = root / f"init-{secrets.token_hex(4)}"
    passwords = {name: secrets.token_urlsafe(24) for name in ("postgres", DATABASE)}
    write_file(root / _SECRETS, json.dumps(passwords), 0o600)
    try:
        make_private_dir(building, account)
        _run(root, _initdb_command(chosen, building), account, server_lock)
        # single-user mode with the passwords on standard input: no argv, no file, no server
        _run(root, _single_user_command(chosen, building), account, server_lock, _make_roles(passwords))
        building.rename(data)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    _sync_dir(root)


def _check_user_has_a_name(account: Account | None) -> None:
    try:
        pwd.getpwuid(account.uid if account else os.geteuid())
    except KeyError:
        raise StorageError(
            f"PostgreSQL does not run under uid {os.geteuid()}, which has no entry in /etc/passwd: add one, "
            "or set DATABASE_URL"
        ) from None


def _initdb_command(chosen: Binaries, building: Path) -> list[str]:
    argv = [chosen.program("initdb"), "-D", str(building), "-U", "postgres", "--encoding=UTF8"]
    argv += ["--auth=reject", "--data-checksums", "--locale=C"]  # our own pg_hba.conf says who may log in
    if chosen.major >= 17:
        # the same collation and character classes on every system, whatever its C library
        argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if chosen.major >= 16:
        argv += ["--set=dynamic_shared_memory_type=mmap"]
    return argv


def _single_user_command(chosen: Binaries, building: Path) -> list[str]:
    argv = [chosen.program("postgres"), "--single", "-j", "-D", str(building)]
    return [*argv, "-c", "exit_on_error=on", "-c", "log_min_error_statement=panic", "postgres"]


def _make_roles(passwords: dict[str, str]) -> str:
    return (
        f"ALTER ROLE postgres PASSWORD '{passwords['postgres']}';\n\n"
        f"CREATE ROLE {DATABASE} LOGIN PASSWORD '{passwords[DATABASE]}';\n\n"
        f"CREATE DATABASE {DATABASE} OWNER {DATABASE};\n\n"
    )


def _run(root: Path, argv: list[str], account: Account | None, server_lock: io.FileIO, stdin: str = "") -> None:
    status, output = binaries.run(argv, account, timeout=_INIT_SECONDS, stdin=stdin, kept=server_lock)
    if status == 0:
        return
    with contextlib.suppress(OSError), (root / LOG).open("a", encoding="utf-8") as log:
        log.write(output)
    raise failure(root, "the database could not be initialised", output)


def password(root: Path, role: str = DATABASE) -> str:
    """The password of a role. Raises ``StorageError``, whose text never holds any of the file."""
    path = root / _SECRETS
    with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        return str(json.loads(path.read_text(encoding="utf-8"))[role])
    raise StorageError(
        f"{path} with the database's passwords is missing or damaged: restore it, or move {root} away to start "
        "with an empty database"
    )


def has_password(root: Path, role: str) -> bool:
    """Whether the role has a password yet. Raises ``StorageError`` when none of the passwords can be read."""
    password(root)
    return role in json.loads((root / _SECRETS).read_text(encoding="utf-8"))


def add_password(root: Path, role: str, secret: str) -> None:
    """Keep the password of one more role. Call it under the start lock."""
    path = root / _SECRETS
    write_file(path, json.dumps(json.loads(path.read_text(encoding="utf-8")) | {role: secret}), 0o600)


def write_settings(root: Path, data: Path, socket_dir: Path, major: int) -> Path:
    """Write the configuration; the file to start the server with."""
    hba = root / "pg_hba.conf"
    write_file(hba, "local all all scram-sha-256\n", 0o644)
    settings = _SETTINGS | {"unix_socket_directories": f'"{socket_dir}"', "hba_file": str(hba)}
    if major >= 18:
        settings["io_method"] = "sync"  # no I/O worker processes
    lines = [f"include_if_exists {quoted(str(data / 'postgresql.conf'))}"]
    lines += [f"{name} = {quoted(value)}" for name, value in settings.items()]
    config = root / "server.conf"
    write_file(config, "\n".join(lines) + "\n", 0o644)
    return config


def quoted(value: str) -> str:
    """A value as PostgreSQL's configuration files and libpq's keyword strings both understand it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def make_socket_dir(root: Path, account: Account | None) -> Path:
    """An empty private directory for the socket: in ``root``, or elsewhere when that path is too long."""
    owner = account.uid if account else os.geteuid()
    name = f"research-agent-{owner}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:10]}"
    choices = [root / "s", Path("/tmp") / name]  # noqa: S108
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and account is None:  # last, because it vanishes at logout, even under a run that goes on
        choices.append(Path(runtime) / name)
    for choice in filter(_fits_socket, choices):
        with contextlib.suppress(OSError):
            make_private_dir(choice, account)
            (choice / _SOCKET).unlink(missing_ok=True)
            (choice / f"{_SOCKET}.lock").unlink(missing_ok=True)
            return choice
    raise StorageError(
        f"no private directory for the database's socket could be made in {root} or /tmp: set "
        "RESEARCH_DATA_DIR to a short path, or set DATABASE_URL"
    )


def _fits_socket(directory: Path) -> bool:
    if len(os.fsencode(directory / _SOCKET)) > _SOCKET_PATH_BYTES:
        return False
    try:
        text = os.fsencode(directory).decode("utf-8")  # as psycopg will read it
    except UnicodeDecodeError:
        return False
    # These have a meaning in PostgreSQL's list of directories or in libpq's list of hosts.
    return text.isprintable() and not set(text) & set("\",'\\")


def make_private_dir(path: Path, account: Account | None) -> None:
    """Mode 0700, owned by the account that runs the server; refuses what somebody else has put there."""
    owner = account.uid if account else os.geteuid()
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
            raise PermissionError(errno.EPERM, "it belongs to somebody else", str(path)) from None
        path.chmod(0o700)
        return
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def write_file(path: Path, text: str, mode: int) -> None:
    """Replace a file durably and in one step, never readable by more than ``mode`` allows."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(text))
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_dir(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def failure(root: Path, what: str, output: str = "") -> StorageError:
    """What to tell the user when a server program failed; its output is in the log, not in the text."""
    # PostgreSQL words a write that came out short without errno, but with this hint.
    full = os.strerror(errno.ENOSPC) in output or "Check free disk space" in output
    if full or shutil.disk_usage(root).free < _LOW_DISK_BYTES:
        return disk_full(root)
    return StorageError(f"{what}: see {root / LOG} for the reason, or set DATABASE_URL to use another server")


def disk_full(root: Path) -> StorageError:
    """The error for a full disk."""
    return StorageError(
        f"the disk is full: free at least 100 MB on the file system of {root}, or set RESEARCH_DATA_DIR to a "
        "directory on another one"
    )
