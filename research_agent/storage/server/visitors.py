"""The private server's read-only role, for people and programs that look at the runs beside us."""

from __future__ import annotations

import secrets
from pathlib import Path

from research_agent.errors import StorageError
from research_agent.storage.server import cluster, dsn

READER = "research_reader"
_PASS_FILE = "pgpass"  # noqa: S105 - a name
_SUPERUSER = "postgres"


def admit(root: Path, socket_dir: Path) -> Path:
    """Make the role and its password if there is none yet; the libpq password file of it and of nobody else.

    Call it under the start lock, while the server accepts connections. A kill between the steps is made good
    by the next call: until the password is kept, it counts for nothing that the role has one.

    Raises:
        StorageError: the superuser cannot make the role; the message says what to do.
    """
    if not cluster.has_password(root, READER):
        secret = secrets.token_urlsafe(24)
        _make_role(dsn.login_dsn(socket_dir, _SUPERUSER, cluster.password(root, _SUPERUSER)), secret)
        cluster.add_password(root, READER, secret)
    path = root / _PASS_FILE
    line = f"*:{cluster.PORT}:{cluster.DATABASE}:{READER}:{cluster.password(root, READER)}\n"
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != line:
        cluster.write_file(path, line, 0o600)
    return path


def _make_role(superuser: str, secret: str) -> None:
    import psycopg

    from research_agent.storage.database import queries

    try:
        with psycopg.connect(superuser, autocommit=True) as connection:
            # Put together here: PostgreSQL takes no parameters in statements about roles.
            psycopg.ClientCursor(connection).execute(queries()["admit_reader"], {"password": secret})
    except psycopg.Error as error:
        raise StorageError(
            f"the read-only role could not be made in the embedded database ({type(error).__name__}): the password of "
            f"{_SUPERUSER} in secrets.json must be that of the server; correct it and run the command again"
        ) from error
