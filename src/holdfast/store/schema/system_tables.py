"""The tables of a system: numbered SQL files of a package, applied after the engine's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple

from holdfast.errors import UsageError
from holdfast.store.schema.migrate import Migration
from holdfast.store.schema.system_sql import on_sqlite

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FILE: Final = re.compile(r"([0-9]{4})_[a-z0-9_]+\.sql")
_TAKEN: Final = ("holdfast", "sqlite", "pg_")
"""How the names of tables and schemas begin that belong to the engine or to a database."""
_RESERVED: Final = frozenset({"public", "information_schema", "main", "temp"})


class SystemTables(NamedTuple):
    """What the tables of one system are made by, in order."""

    system: str
    migrations: tuple[Migration, ...]

    def on_sqlite(self, migration: Migration) -> list[str]:
        """Return the statements of a migration with its tables named as SQLite has them."""
        return [on_sqlite(text, systems=[self.system]) for text in migration.statements]


def load_tables(packages: Mapping[str, str]) -> tuple[SystemTables, ...]:
    """Return the tables of systems, by name; the packages that hold their files are given.

    Raises `UsageError` for a name that no schema can have, a package that cannot be found, and
    files that are not numbered one by one from 1.
    """
    return tuple(_loaded(name, package) for name, package in sorted(packages.items()))


def _loaded(system: str, package: str) -> SystemTables:
    if not _NAME.fullmatch(system) or system.startswith(_TAKEN) or system in _RESERVED:
        raise UsageError(
            f"a system called {system!r} cannot have tables: its name is that of their schema, so "
            "it takes a small letter, then small letters, digits and '_', at most 40, and none "
            "that a database or holdfast uses itself"
        )
    try:
        items = list(resources.files(package).iterdir())
    except ModuleNotFoundError as error:
        raise UsageError(f"tables of {system!r}: there is no package {package!r}") from error
    migrations: list[Migration] = []
    for item in sorted(items, key=lambda each: each.name):
        if not item.name.endswith(".sql"):
            continue
        number = _FILE.fullmatch(item.name)
        if number is None or int(number[1]) != len(migrations) + 1:
            raise UsageError(
                f"tables of {system!r}: the next file of {package} has to be called "
                f"{len(migrations) + 1:04d}_name.sql, not {item.name}"
            )
        text = item.read_text("utf-8")
        name = f"{system}/{item.name.removesuffix('.sql')}"
        migrations.append(Migration(int(number[1]), name, text))
    if not migrations:
        raise UsageError(f"tables of {system!r}: {package} has no file such as 0001_name.sql")
    return SystemTables(system, tuple(migrations))
