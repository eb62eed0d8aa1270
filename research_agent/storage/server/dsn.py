"""Connection strings of the private server, which nothing in the caller's environment can disturb."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from research_agent.storage.server import cluster

# libpq reads these from the environment and has no connection parameter that overrules them.
UNPINNABLE = ("PGSERVICE", "PGDATESTYLE", "PGTZ", "PGGEQO")
# What switches a connection parameter off, where neither its default nor the empty string does.
_NEUTRAL = {
    "require_auth": "scram-sha-256",
    "sslcertmode": "disable",
    "min_protocol_version": "3.0",
    "max_protocol_version": "3.0",
}


def login_dsn(socket_dir: Path, role: str, password: str) -> str:
    """For this process: it holds the password."""
    query = "&".join(f"{name}={quote(os.fsencode(value), safe='')}" for name, value in _pinned(socket_dir))
    return f"postgresql://{role}:{password}@/{cluster.DATABASE}?{query}"


def visitor_dsn(socket_dir: Path, role: str, pass_file: Path) -> str:
    """To be shown and pasted: it names the file that holds the password, and is safe between single quotes."""
    values = {"host": str(socket_dir), "port": str(cluster.PORT), "passfile": str(pass_file)}
    query = "&".join(f"{name}={quote(os.fsencode(value), safe='/')}" for name, value in values.items())
    return f"postgresql://{role}@/{cluster.DATABASE}?{query}"


def accepts_connections(socket_dir: str) -> bool:
    """A ping ends before authentication: cheaper than a connection; false during start, recovery and stop."""
    from psycopg import pq

    pinned = [*_pinned(Path(socket_dir)), ("user", cluster.DATABASE), ("dbname", cluster.DATABASE)]
    conninfo = " ".join(f"{name}={cluster.quoted(value)}" for name, value in pinned)
    return pq.PGconn.ping(os.fsencode(conninfo)) == pq.Ping.OK


def _pinned(socket_dir: Path) -> list[tuple[str, str]]:
    """Connection parameters, with a neutral value for each that the environment would set otherwise."""
    from psycopg import pq

    pinned = {
        "host": str(socket_dir),
        "port": str(cluster.PORT),
        "sslmode": "disable",
        "gssencmode": "disable",
        "channel_binding": "disable",
        "client_encoding": "utf8",
        "connect_timeout": "10",
    }
    elsewhere = ("user", "password", "dbname", "application_name")
    for option in pq.Conninfo.get_defaults():
        name, variable = option.keyword.decode(), (option.envvar or b"").decode()
        if variable in os.environ and name not in pinned and name not in elsewhere:
            pinned[name] = _NEUTRAL.get(name) or (option.compiled or b"").decode()
    return list(pinned.items())
