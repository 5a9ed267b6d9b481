"""Where and how a run was made: the header of every file of figures."""

import os
import platform
import sqlite3
from datetime import UTC, datetime
from typing import Any

import psycopg

NOT_FLUSHED = "off, for all systems alike: only ratios within one run count"
FLUSHED = "on, for all systems alike"


def machine(*, fsync: bool, server_url: str | None) -> dict[str, Any]:
    """The machine and its databases; without a server, what is known without one."""
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql_fsync": FLUSHED if fsync else NOT_FLUSHED,
    }
    return facts if server_url is None else facts | _server(server_url)


def _server(url: str) -> dict[str, Any]:
    with psycopg.connect(url) as connection:
        settings = connection.execute(
            "select name, current_setting(name) from unnest(%s::text[]) as name",
            [["server_version", "fsync", "synchronous_commit", "shared_buffers"]],
        ).fetchall()
    server = dict(settings)
    return {"postgresql": server.pop("server_version"), "postgresql_settings": server}
