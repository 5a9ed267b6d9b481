"""Which library a connection comes from; none is imported to find out."""

from __future__ import annotations

import sys
from typing import Final

_AWAITED_DRIVERS: Final = (
    ("psycopg", "AsyncConnection"),
    ("asyncpg", "Connection"),
    ("aiosqlite", "Connection"),
)


def is_of(value: object, module: str, *classes: str) -> bool:
    """Return whether `value` is of one of these classes, of a module if it has been imported."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(
        value, tuple(getattr(loaded, name, ()) for name in classes)
    )


def is_of_django(connection: object) -> bool:
    """Return whether it is a connection of Django's, or its alias."""
    return (
        isinstance(connection, str)
        or is_of(connection, "django.db.backends.base.base", "BaseDatabaseWrapper")
        or is_of(connection, "django.utils.connection", "ConnectionProxy")
    )


def is_sqlalchemy_async(connection: object) -> bool:
    """Return whether it is a session or connection of SQLAlchemy that is awaited."""
    return is_of(
        connection,
        "sqlalchemy.ext.asyncio",
        "AsyncSession",
        "async_scoped_session",
        "AsyncConnection",
    )


def awaited_driver(connection: object) -> str | None:
    """Return the module of the driver whose connection it is, where that has to be awaited."""
    return next(
        (module for module, name in _AWAITED_DRIVERS if is_of(connection, module, name)), None
    )
