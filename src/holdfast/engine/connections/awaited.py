"""Connections of the event loop, lent to the thread in which an awaited verb runs."""

from __future__ import annotations

from typing import Any

from holdfast.engine.connections.libraries import (
    awaited_driver,
    is_of,
    is_of_django,
    is_sqlalchemy_async,
)
from holdfast.errors import UsageError


async def lent(connection: object) -> object:
    """Return what a thread can use of a connection, while this loop runs its statements.

    One that blocks is returned as it is.
    """
    if is_of_django(connection):
        raise UsageError(
            "a connection of Django's belongs to the thread it is used in; call the verb that is "
            "not awaited inside `sync_to_async`, with `atomic()` around it there"
        )
    driver = await _driver_of(connection) if is_sqlalchemy_async(connection) else connection
    # Imported when they are needed: the first of them takes as long as its driver does.
    match awaited_driver(driver):
        case "psycopg":
            from holdfast.store.awaited.postgres import AwaitedPsycopg  # noqa: PLC0415

            return AwaitedPsycopg(driver)
        case "asyncpg":
            from holdfast.store.awaited.postgres import AwaitedAsyncpg  # noqa: PLC0415

            return AwaitedAsyncpg(driver)
        case "aiosqlite":
            from holdfast.store.awaited.sqlite import AwaitedSqlite  # noqa: PLC0415

            return AwaitedSqlite(driver)
        case _:
            return driver


async def _driver_of(given: Any) -> object:  # noqa: ANN401 - SQLAlchemy may be absent
    is_connection = is_of(given, "sqlalchemy.ext.asyncio", "AsyncConnection")
    connection = given if is_connection else await given.connection()
    if not connection.in_transaction():
        await connection.begin()  # as its own first statement would, so that its commit is one
    driver = (await connection.get_raw_connection()).driver_connection
    if awaited_driver(driver) == "asyncpg" and not driver.is_in_transaction():
        # With this driver SQLAlchemy begins when the first statement comes by.
        await connection.exec_driver_sql("select 1")
    return driver
