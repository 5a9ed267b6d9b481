"""Jobs in transactions that are awaited: they exist if and only if those commit."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress

import aiosqlite
import asyncpg
import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from holdfast import Submit
from holdfast.engine.threads import THREADS
from holdfast.errors import KeyConflict, UsageError
from holdfast.testing import run_inline
from tests.engine.connections.awaited import (
    ON_POSTGRES,
    ON_SQLITE,
    AwaitedWay,
    ConnectionOnAiosqlite,
    ConnectionOnAsyncpg,
    ConnectionOnPsycopg,
    PooledAsyncpg,
    Sqlalchemy,
    async_engine,
)
from tests.engine.connections.blocking import Django

ON_POSTGRES_ALONE = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
"""SQLite has one writer, and who waits for it does so in the driver's thread."""


class Rollback(Exception):
    pass


@pytest.fixture
def ways(app, database_url: str) -> list[AwaitedWay]:
    """Every driver whose connections are awaited, for the app's database, and sessions on it."""
    kinds = ON_SQLITE if database_url.startswith("sqlite:") else ON_POSTGRES
    return [kind(database_url) for kind in kinds]


@pytest.fixture
def all_ways(ways: list[AwaitedWay], database_url: str) -> list[AwaitedWay]:
    """Those, and what differs from them by how a transaction is begun."""
    if database_url.startswith("sqlite:"):
        return [*ways, ConnectionOnAiosqlite(database_url)]
    kinds = (ConnectionOnAsyncpg, ConnectionOnPsycopg, PooledAsyncpg)
    return [*ways, *(kind(database_url) for kind in kinds)]


def each(ways, scenario):
    """Return what a scenario says of each library, by the library's name."""

    async def all_of_them():
        return {type(way).__name__: await scenario(way) for way in ways}

    return asyncio.run(all_of_them())


def said_by_all(ways, answer):
    return {type(way).__name__: answer for way in ways}


def job(way, n):
    return {"way": type(way).__name__, "n": n}


async def kept(app, way):
    """Return what the jobs of a library say, the oldest first."""
    mine = [view for view in await app.aio.jobs() if view.payload["way"] == type(way).__name__]
    return [view.payload["n"] for view in reversed(mine)]


def orders(app):
    with app.store.transaction() as connection:
        return connection.execute("select count(*) from orders").fetchone()[0]


def test_a_commit_makes_the_job_and_it_runs(app, all_ways):
    async def scenario(way):
        async with way.transaction() as connection:
            await app.aio.submit("p", job(way, 1), connection=connection)
            await way.insert(connection)
            before = await kept(app, way)
        return before, await kept(app, way)

    assert each(all_ways, scenario) == said_by_all(all_ways, ([], [1]))
    assert orders(app) == len(all_ways)
    run_inline(app)
    assert {view.result for view in app.jobs()} == {"done"}


def test_a_rollback_leaves_nothing_of_any_verb(app, ways):
    async def scenario(way):
        with suppress(Rollback):
            async with way.transaction() as connection:
                await way.insert(connection)
                many = [job(way, 2), Submit(job(way, 3), key="it's \\ 100%")]
                await app.aio.submit("p", job(way, 1), connection=connection)
                await app.aio.submit_many("p", many, connection=connection)
                await app.aio.publish("order.made", {"n": 1}, connection=connection)
                await app.aio.deliver(
                    "order", recipients=["a@b"], message={}, connection=connection
                )
                raise Rollback
        return await kept(app, way)

    assert each(ways, scenario) == said_by_all(ways, [])
    assert (orders(app), app.outbox.find(), app.deliveries.find()) == (0, [], [])


def test_what_any_verb_stores_is_what_it_stores_without_a_transaction(app, ways):
    texts = {"text": 'it\'s "so" \\ 100% %% %(id)s {a,b} ü', "none": None, "number": -7}

    async def scenario(way):
        name = type(way).__name__
        async with way.transaction() as connection:
            made = await app.aio.submit_many(
                "p",
                [Submit({**texts, "n": n}, key=f"{name} \\ '{n}'", owner="o'n") for n in (1, 2)],
                connection=connection,
            )
            message = await app.aio.publish("made", texts, connection=connection)
            (view,) = await app.aio.deliver(
                name, recipients=["a@b"], message=texts, connection=connection
            )
        jobs = [(await app.aio.job(one.job_id)).job for one in made]
        return (
            [(json.loads(one.payload), one.owner, one.key) for one in jobs]
            == [({**texts, "n": n}, "o'n", f"{name} \\ '{n}'") for n in (1, 2)],
            json.loads(app.outbox.get(message).payload),
            json.loads(app.deliveries.get(view.id).delivery.message),
        )

    assert each(ways, scenario) == said_by_all(ways, (True, texts, {**texts, "to": "a@b"}))


def test_a_savepoint_that_is_rolled_back_takes_only_its_own_jobs(app, all_ways):
    async def scenario(way):
        async with way.transaction() as connection:
            await app.aio.submit("p", job(way, "before"), connection=connection)
            with suppress(Rollback):
                async with way.savepoint(connection):
                    await app.aio.submit("p", job(way, "inside"), connection=connection)
                    raise Rollback
            await app.aio.submit("p", job(way, "after"), connection=connection)
        return await kept(app, way)

    assert each(all_ways, scenario) == said_by_all(all_ways, ["before", "after"])


def test_a_key_conflict_leaves_the_transaction_usable(app, ways):
    async def scenario(way):
        key = type(way).__name__
        async with way.transaction() as connection:
            first = await app.aio.submit("p", job(way, 1), key=key, connection=connection)
            again = await app.aio.submit("p", job(way, 1), key=key, connection=connection)
            with pytest.raises(KeyConflict, match=first.id):
                await app.aio.submit("p", job(way, 2), key=key, connection=connection)
            await app.aio.submit(
                "p", job(way, 3), key=key, version=2, rerun=True, connection=connection
            )
            await way.insert(connection)
        return await kept(app, way), again.id == first.id

    assert each(ways, scenario) == said_by_all(ways, ([1, 3], True))
    assert orders(app) == len(ways)


def test_a_function_is_submitted_in_a_transaction(app, ways):
    @app.job
    def receipt(way: str, n: int) -> int:
        return n

    async def scenario(way):
        name = type(way).__name__
        with suppress(Rollback):
            async with way.transaction() as connection:
                await receipt.using(connection=connection).asubmit(name, 0)
                raise Rollback
        async with way.transaction() as connection:
            own = receipt.using(connection=connection)
            await own.asubmit(name, 1)
            await own.asubmit_many([receipt.call(name, 2)])
        return await kept(app, way)

    assert each(ways, scenario) == said_by_all(ways, [1, 2])


def test_a_connection_that_has_done_nothing_yet_is_in_its_transaction_from_then_on(
    app, ways, database_url
):
    drivers = [way.driver for way in ways if isinstance(way, Sqlalchemy)]

    async def submit():
        for driver in drivers:
            engine = async_engine(database_url, driver)
            async with engine.connect() as connection, AsyncSession(engine) as session:
                for given in (connection, session):
                    await app.aio.submit("p", "dropped", connection=given)
                    await given.rollback()
                    await app.aio.submit("p", "kept", connection=given)
                    await given.commit()
            await engine.dispose()

    asyncio.run(submit())
    assert [view.payload for view in app.jobs()] == ["kept", "kept"] * len(drivers)


def test_a_connection_that_is_awaited_is_refused_by_a_verb_that_blocks(app, all_ways):
    async def scenario(way):
        async with way.transaction() as connection:
            with pytest.raises(UsageError, match=r"await app\.aio\.submit"):
                app.submit("p", connection=connection)
        return await kept(app, way)

    assert each(all_ways, scenario) == said_by_all(all_ways, [])


def test_a_connection_that_commits_by_itself_is_refused(app, database_url):
    async def refuse(connection):
        with pytest.raises(UsageError, match="has no transaction open"):
            await app.aio.submit("p", connection=connection)

    async def all_of_them():
        if database_url.startswith("sqlite:"):
            path = database_url.removeprefix("sqlite:///")
            async with aiosqlite.connect(path, isolation_level=None) as connection:
                await refuse(connection)
            return
        connect = psycopg.AsyncConnection.connect
        async with await connect(database_url, autocommit=True) as connection:
            await refuse(connection)
        connection = await asyncpg.connect(database_url)
        await refuse(connection)
        await connection.close()
        engine = async_engine(database_url, "asyncpg").execution_options(
            isolation_level="AUTOCOMMIT"
        )
        async with AsyncSession(engine) as session:
            await refuse(session)
        await engine.dispose()

    asyncio.run(all_of_them())
    assert app.jobs() == []


def test_djangos_connections_are_refused_on_the_event_loop(app, database_url):
    async def submit():
        with pytest.raises(UsageError, match="sync_to_async"):
            await app.aio.submit("p", connection="default")

    Django(database_url)
    asyncio.run(submit())


@ON_POSTGRES_ALONE
def test_a_submission_that_waits_leaves_the_loop_free_and_outlives_its_task(
    app, ways, database_url
):
    """It waits for the key of another transaction, which only this event loop can end."""

    async def scenario(way):
        key = type(way).__name__
        async with (
            await psycopg.AsyncConnection.connect(database_url) as other,
            way.transaction() as connection,
        ):
            await app.aio.submit("p", job(way, "other"), key=key, connection=other)
            made = app.aio.submit("p", job(way, 1), key=key, connection=connection)
            task = asyncio.ensure_future(made)
            await until_a_lock_is_waited_for(other)
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
            await other.rollback()
            with pytest.raises(asyncio.CancelledError):
                await task
            again = await app.aio.submit("p", job(way, 1), key=key, connection=connection)
            assert not again.created
            await way.insert(connection)
        return await kept(app, way)

    assert each(ways, scenario) == said_by_all(ways, [1])
    assert orders(app) == len(ways)


@ON_POSTGRES_ALONE
def test_a_transaction_that_many_wait_for_can_go_on(app, database_url):
    async def submit(connection):
        await app.aio.submit("p", 1, key="k", connection=connection)
        await connection.rollback()

    async def scenario():
        async with AsyncExitStack() as opened:
            first, *others = [
                await opened.enter_async_context(
                    await psycopg.AsyncConnection.connect(database_url)
                )
                for _ in range(THREADS + 2)
            ]
            await app.aio.submit("p", 1, key="k", connection=first)
            waiting = [asyncio.create_task(submit(other)) for other in others]
            await until_a_lock_is_waited_for(first, by=len(others))
            await app.aio.submit("p", 2, connection=first)
            await first.rollback()
            await asyncio.gather(*waiting)

    asyncio.run(scenario())
    assert app.jobs() == []


async def until_a_lock_is_waited_for(connection, *, by=1):
    waiting = (
        "select count(*) from pg_locks where not granted and pid in "
        "(select pid from pg_stat_activity where datname = current_database())"
    )
    while (await (await connection.execute(waiting)).fetchone())[0] < by:  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.001)
