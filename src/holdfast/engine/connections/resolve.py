"""What a caller gave for `connection=`, as the store takes it."""

from __future__ import annotations

from typing import Any

from holdfast.engine.connections.django import driver_of_django
from holdfast.engine.connections.libraries import (
    awaited_driver,
    is_of,
    is_of_django,
    is_sqlalchemy_async,
)
from holdfast.errors import UsageError


def resolved(connection: object) -> object:
    """Return the driver's connection underneath what was given, in the transaction it is in.

    What no library that is known here has made is returned as it is, for the store to judge.
    """
    if connection is None:
        return None
    driver = _driver_of(connection)
    if is_sqlalchemy_async(driver) or awaited_driver(driver) is not None:
        raise UsageError(
            f"connection is a {type(connection).__name__} of an event loop; pass it to an awaited "
            "verb: `await app.aio.submit(…, connection=…)`, or `asubmit` of a function"
        )
    return driver


def _driver_of(connection: Any) -> object:  # noqa: ANN401 - libraries may be absent
    if is_of_django(connection):
        return driver_of_django(connection)
    if is_of(connection, "sqlalchemy.orm", "Session", "scoped_session"):
        return _driver_of_sqlalchemy(connection.connection())
    if is_of(connection, "sqlalchemy.engine", "Connection"):
        return _driver_of_sqlalchemy(connection)
    return connection


def _driver_of_sqlalchemy(connection: Any) -> object:  # noqa: ANN401 - as above
    if not connection.in_transaction():
        connection.begin()  # as its own first statement would, so that its commit is one
    driver: object = connection.connection.driver_connection
    return driver
