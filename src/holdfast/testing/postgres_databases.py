"""Databases on a PostgreSQL server that a test may use up."""

import secrets
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

CopyStrategy = Literal["wal_log", "file_copy"]

_KEPT_BEFORE_DROPPING = 4


def create_database(
    server_url: str, name: str, *, template: str | None = None, strategy: CopyStrategy = "wal_log"
) -> str:
    """Creates the database `name` as a copy of `template`, or empty; its URL.

    `file_copy` is quicker where fsync is off, and much slower where it is on.
    """
    statement = sql.SQL("create database {} template {} strategy {}").format(
        sql.Identifier(name), sql.Identifier(template or "template0"), sql.SQL(strategy)
    )
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement)
    return database_url(server_url, name)


def drop_database(server_url: str, name: str) -> None:
    """Drops the database `name` and ends its sessions; nothing if it is not there."""
    statement = sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement)


def database_url(server_url: str, name: str) -> str:
    """The URL of the database `name` on the server of `server_url`."""
    return urlunsplit(urlsplit(server_url)._replace(path="/" + quote(name, safe="")))


class DisposableDatabases:
    """Fresh databases on one server, under names of their own, dropped when no longer needed."""

    def __init__(
        self, server_url: str, *, label: str = "test", strategy: CopyStrategy = "wal_log"
    ) -> None:
        self._server_url = server_url
        self._prefix = f"holdfast_{label}_{secrets.token_hex(4)}"
        self._strategy = strategy
        self._made = 0
        self._templates: dict[str, str] = {}
        self._used_up: list[str] = []

    def fresh(self, *, template: str | None = None) -> str:
        """The URL of a new database, a copy of `template` if one is given."""
        return create_database(
            self._server_url, self._new_name(), template=template, strategy=self._strategy
        )

    def template(self, purpose: str, *, build: Callable[[str], None]) -> str:
        """The name of a database that `build` filled, to give to `fresh`; built once a purpose.

        `build` gets its URL and must have closed its connections when it returns.
        """
        if purpose not in self._templates:
            name = self._new_name()
            build(create_database(self._server_url, name, strategy=self._strategy))
            self._templates[purpose] = name
        return self._templates[purpose]

    def use_up(self, url: str) -> None:
        """The database may go; it is dropped some time later, when its sessions have ended."""
        self._used_up.append(urlsplit(url).path.lstrip("/"))
        if len(self._used_up) > _KEPT_BEFORE_DROPPING:
            drop_database(self._server_url, self._used_up.pop(0))

    def drop_all(self) -> None:
        """Drops what is left, templates too."""
        for name in (*self._used_up, *self._templates.values()):
            drop_database(self._server_url, name)
        self._used_up.clear()
        self._templates.clear()

    def _new_name(self) -> str:
        self._made += 1
        return f"{self._prefix}_{self._made}"
