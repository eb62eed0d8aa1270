"""PostgreSQL's own shell on the database of the runs, and its address for other programs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from research_agent.errors import StorageError
from research_agent.settings import Settings
from research_agent.storage.connection import parse_dsn

# libpq's names in the environment: on the command line a password could be seen by everybody.
_VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
_MORE = {"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY"}


def run_psql(settings: Settings, arguments: Sequence[str]) -> int:
    """Run ``psql`` with `arguments` on the database that `settings` name; its exit code.

    Raises:
        StorageError: there is no ``psql``, or the database cannot be started.
    """
    if settings.database_url:
        dsn, program = settings.database_url.get_secret_value(), shutil.which("psql")
        if not program:
            raise StorageError("there is no psql on this machine: install PostgreSQL's client programs")
        return _call(program, dsn, arguments)
    from research_agent.storage.server.embedded import server_of

    server = server_of(settings)
    try:
        return _call(server.program("psql"), server.ensure(), arguments)
    finally:
        server.release()


def address(settings: Settings) -> tuple[str, str]:
    """The database's address without a password, and the command that opens it in ``psql``.

    The embedded server's is that of the role ``research_reader``, names the file with its password, and works for a
    minute, and as long as anybody is connected. For ``DATABASE_URL`` the password is asked for, or found by libpq's
    means.

    Raises:
        StorageError: the database cannot be started, or ``DATABASE_URL`` is malformed.
    """
    if settings.database_url:
        url = _without_password(settings.database_url.get_secret_value())
        return url, shlex.join(["psql", url])
    from research_agent.storage.server.embedded import server_of

    server = server_of(settings)
    try:
        url = server.reader_dsn()
        server.keep_for_visitors()
        return url, shlex.join([server.program("psql"), url])
    finally:
        server.release()


def _without_password(dsn: str) -> str:
    parts = {name: str(value) for name, value in parse_dsn(dsn).items() if "password" not in name and value is not None}
    user = quote(parts.pop("user", ""), safe="")
    database = quote(parts.pop("dbname", ""), safe="")
    query = urlencode(parts, quote_via=quote, safe="/,")
    return f"postgresql://{f'{user}@' if user else ''}/{database}{f'?{query}' if query else ''}"


def _call(program: str, dsn: str, arguments: Sequence[str]) -> int:
    parts = parse_dsn(dsn)
    names = _VARIABLES | _MORE
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    given = {names[key]: str(value) for key, value in parts.items() if key in names}
    return subprocess.call([program, *arguments], env=clean | given)  # noqa: S603 - a program that we looked up
