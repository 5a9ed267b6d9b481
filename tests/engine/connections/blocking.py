"""Transactions of libraries that block, as their users begin, write in and end them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import django
import sqlalchemy
from django.conf import settings
from django.db import connections, transaction
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.orm import Session

INSERT = "insert into orders values (1)"


class Way(ABC):
    """How one library is used on a database."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """Open a transaction, and yield what `connection=` is given."""

    @abstractmethod
    def savepoint(self, connection: Any) -> AbstractContextManager[Any]: ...

    @abstractmethod
    def insert(self, connection: Any) -> None:
        """Store a row of the user's own."""

    @abstractmethod
    def close(self) -> None: ...


class SqlalchemySession(Way):
    def __init__(self, url: str) -> None:
        self.engine = sqlalchemy.create_engine(sqlalchemy_url(url, "psycopg"))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with Session(self.engine) as session, session.begin():
            yield session

    def savepoint(self, connection: Any) -> AbstractContextManager[Any]:
        return connection.begin_nested()

    def insert(self, connection: Any) -> None:
        connection.execute(sqlalchemy.text(INSERT))

    def close(self) -> None:
        self.engine.dispose()


class SqlalchemyConnection(SqlalchemySession):
    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self.engine.begin() as connection:
            yield connection


class Django(Way):
    """A connection of Django's by its alias."""

    def __init__(self, url: str) -> None:
        if not settings.configured:
            settings.configure(LOGGING_CONFIG=None)
            django.setup()
        connections.settings = connections.configure_settings({"default": django_settings(url)})

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with transaction.atomic():
            yield "default"

    def savepoint(self, connection: Any) -> AbstractContextManager[Any]:
        return transaction.atomic(using=connection)

    def insert(self, connection: Any) -> None:
        with connections[connection].cursor() as cursor:
            cursor.execute(INSERT)

    def close(self) -> None:
        connections["default"].close()
        del connections["default"]


WAYS = (SqlalchemySession, SqlalchemyConnection, Django)


def sqlalchemy_url(url: str, driver: str) -> str:
    """Return the URL of a database for SQLAlchemy with that driver for PostgreSQL."""
    return url.replace("postgresql://", f"postgresql+{driver}://")


def django_settings(url: str) -> dict[str, Any]:
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:///")
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": path}
    given = conninfo_to_dict(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given["dbname"],
        "USER": given.get("user", ""),
        "PASSWORD": given.get("password", ""),
        "HOST": given.get("host", ""),
        "PORT": given.get("port", ""),
    }
