"""Databases on a PostgreSQL server that a test may use up."""

import secrets
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote, unquote, urlsplit, urlunsplit

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
    """Return the URL of the database `name` on the server of `server_url`."""
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
        self._present: set[str] = set()
        self._used_up: list[str] = []

    def fresh(self, *, template: str | None = None) -> str:
        """Return the URL of a new database, a copy of `template` if one is given."""
        return self._create(self._new_name(), template=template)

    def template(self, purpose: str, *, build: Callable[[str], None]) -> str:
        """The name of a database that `build` filled, to give to `fresh`; built once a purpose.

        `build` gets its URL and must have closed its connections when it returns.
        """
        if purpose not in self._templates:
            name = self._new_name()
            build(self._create(name))
            self._templates[purpose] = name
        return self._templates[purpose]

    def use_up(self, url: str) -> None:
        """The database may go; it is dropped some time later, when its sessions have ended."""
        self._used_up.append(unquote(urlsplit(url).path.lstrip("/")))
        if len(self._used_up) > _KEPT_BEFORE_DROPPING:
            self._drop(self._used_up.pop(0))

    def drop_all(self) -> None:
        """Drops every database that is left, templates too."""
        for name in sorted(self._present):
            self._drop(name)
        self._used_up.clear()
        self._templates.clear()

    def _create(self, name: str, *, template: str | None = None) -> str:
        url = create_database(self._server_url, name, template=template, strategy=self._strategy)
        self._present.add(name)
        return url

    def _drop(self, name: str) -> None:
        drop_database(self._server_url, name)
        self._present.discard(name)

    def _new_name(self) -> str:
        self._made += 1
        return f"{self._prefix}_{self._made}"
