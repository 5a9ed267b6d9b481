"""Transactions of libraries that are awaited, as their users begin, write in and end them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiosqlite
import asyncpg
import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from tests.engine.connections.blocking import INSERT


class AwaitedWay(ABC):
    """How one library is used on a database."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a transaction, and yield what `connection=` is given."""

    @abstractmethod
    def savepoint(self, connection: Any) -> AbstractAsyncContextManager[Any]: ...

    async def insert(self, connection: Any) -> None:
        """Store a row of the user's own."""
        await connection.execute(INSERT)


class Sqlalchemy(AwaitedWay):
    driver: str

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        engine = async_engine(self.url, self.driver)
        try:
            async with self.began(engine) as connection:
                yield connection
        finally:
            await engine.dispose()

    @asynccontextmanager
    async def began(self, engine: Any) -> AsyncIterator[Any]:
        async with AsyncSession(engine) as session, session.begin():
            yield session

    def savepoint(self, connection: Any) -> AbstractAsyncContextManager[Any]:
        return connection.begin_nested()

    async def insert(self, connection: Any) -> None:
        await connection.execute(text(INSERT))


class SessionOnAsyncpg(Sqlalchemy):
    driver = "asyncpg"


class SessionOnPsycopg(Sqlalchemy):
    driver = "psycopg"


class SessionOnAiosqlite(Sqlalchemy):
    driver = "aiosqlite"


class ConnectionOnAsyncpg(SessionOnAsyncpg):
    @asynccontextmanager
    async def began(self, engine: Any) -> AsyncIterator[Any]:
        async with engine.begin() as connection:
            yield connection


class ConnectionOnPsycopg(SessionOnPsycopg):
    began = ConnectionOnAsyncpg.began


class ConnectionOnAiosqlite(SessionOnAiosqlite):
    began = ConnectionOnAsyncpg.began


class Psycopg(AwaitedWay):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            yield connection

    def savepoint(self, connection: Any) -> AbstractAsyncContextManager[Any]:
        return connection.transaction()


class Asyncpg(AwaitedWay):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(self.url)
        try:
            async with connection.transaction():
                yield connection
        finally:
            await connection.close()

    def savepoint(self, connection: Any) -> AbstractAsyncContextManager[Any]:
        return connection.transaction()


class PooledAsyncpg(Asyncpg):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with (
            asyncpg.create_pool(self.url, min_size=1, max_size=1) as pool,
            pool.acquire() as connection,
            connection.transaction(),
        ):
            yield connection


class Aiosqlite(AwaitedWay):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with aiosqlite.connect(self.url.removeprefix("sqlite:///")) as connection:
            connection.row_factory = aiosqlite.Row
            try:
                yield connection
            except BaseException:
                await connection.rollback()
                raise
            await connection.commit()

    @asynccontextmanager
    async def savepoint(self, connection: Any) -> AsyncIterator[Any]:
        await connection.execute("savepoint inner")
        try:
            yield connection
        except BaseException:
            await connection.execute("rollback to inner")
            raise
        finally:
            await connection.execute("release inner")


ON_POSTGRES = (SessionOnAsyncpg, SessionOnPsycopg, Psycopg, Asyncpg)
ON_SQLITE = (SessionOnAiosqlite, Aiosqlite)


def async_engine(url: str, driver: str) -> Any:
    scheme, _, rest = url.partition("://")
    return create_async_engine(f"{scheme}+{driver}://{rest}")
