"""PostgreSQL's own shell on the database of the runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from research_agent.errors import StorageError
from research_agent.settings import Settings

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
    from research_agent.storage.embedded import server_of

    server = server_of(settings)
    try:
        return _call(server.program("psql"), server.ensure(), arguments)
    finally:
        server.release()


def _call(program: str, dsn: str, arguments: Sequence[str]) -> int:
    try:
        parts = conninfo_to_dict(dsn)
    except ProgrammingError:
        raise StorageError("DATABASE_URL is malformed") from None
    names = _VARIABLES | _MORE
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    given = {names[key]: str(value) for key, value in parts.items() if key in names}
    return subprocess.call([program, *arguments], env=clean | given)  # noqa: S603 - a program that we looked up
