"""Jobs in transactions of SQLAlchemy and Django: they exist if and only if those commit."""

from contextlib import closing, suppress

import pytest
import sqlalchemy
from django.db import connection as of_django
from django.db import transaction
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from holdfast import Submit
from holdfast.errors import KeyConflict, UsageError
from holdfast.testing import run_inline
from tests.engine.connections.blocking import Django, sqlalchemy_url


class Rollback(Exception):
    pass


def each(ways, scenario):
    """Return what a scenario says of each library, by the library's name."""
    return {type(way).__name__: scenario(way) for way in ways}


def said_by_all(ways, answer):
    return {type(way).__name__: answer for way in ways}


def kept(app, way):
    """Return what the jobs of a library say, the oldest first."""
    mine = [view for view in app.jobs() if view.payload["way"] == type(way).__name__]
    return [view.payload["n"] for view in reversed(mine)]


def job(way, n):
    return {"way": type(way).__name__, "n": n}


def orders(app):
    with app.store.transaction() as connection:
        return connection.execute("select count(*) from orders").fetchone()[0]


def test_a_commit_makes_the_job_and_it_runs(app, ways):
    def scenario(way):
        with way.transaction() as connection:
            handle = app.submit("p", job(way, 1), connection=connection)
            way.insert(connection)
            before = kept(app, way)
        run_inline(app)
        return before, kept(app, way), handle.result(0)

    assert each(ways, scenario) == said_by_all(ways, ([], [1], "done"))
    assert orders(app) == len(ways)


def test_a_rollback_leaves_nothing_of_any_verb(app, ways):
    def scenario(way):
        with suppress(Rollback), way.transaction() as connection:
            way.insert(connection)
            app.submit("p", job(way, 1), connection=connection)
            app.submit_many("p", [job(way, 2), Submit(job(way, 3))], connection=connection)
            app.publish("order.made", {"n": 1}, connection=connection)
            app.deliver("order", recipients=["a@b"], message={}, connection=connection)
            with app.transaction(connection=connection) as own:
                assert own.rows("select count(*) as n from orders") == [{"n": 1}]
            raise Rollback
        return kept(app, way)

    assert each(ways, scenario) == said_by_all(ways, [])
    assert (orders(app), app.outbox.find(), app.deliveries.find()) == (0, [], [])


def test_a_savepoint_that_is_rolled_back_takes_only_its_own_jobs(app, ways):
    def scenario(way):
        with way.transaction() as connection:
            app.submit("p", job(way, "before"), connection=connection)
            with suppress(Rollback), way.savepoint(connection):
                app.submit("p", job(way, "inside"), connection=connection)
                raise Rollback
            app.submit("p", job(way, "after"), connection=connection)
        return kept(app, way)

    assert each(ways, scenario) == said_by_all(ways, ["before", "after"])


def test_a_key_conflict_leaves_the_transaction_usable(app, ways):
    def scenario(way):
        key = type(way).__name__
        with way.transaction() as connection:
            first = app.submit("p", job(way, 1), key=key, connection=connection)
            again = app.submit("p", job(way, 1), key=key, connection=connection)
            with pytest.raises(KeyConflict, match=first.id):
                app.submit("p", job(way, 2), key=key, connection=connection)
            way.insert(connection)
        return kept(app, way), again.id == first.id

    assert each(ways, scenario) == said_by_all(ways, ([1], True))
    assert orders(app) == len(ways)


def test_a_session_that_has_done_nothing_yet_is_in_its_transaction_from_then_on(app, database_url):
    engine = sqlalchemy.create_engine(sqlalchemy_url(database_url, "psycopg"))
    sessions = scoped_session(sessionmaker(engine))
    with engine.connect() as connection, Session(engine) as session:
        for given in (connection, session, sessions):
            app.submit("p", "dropped", connection=given)
            given.rollback()
            app.submit("p", "kept", connection=given)
            given.commit()
        sessions.remove()
    engine.dispose()

    assert [view.payload for view in app.jobs()] == ["kept"] * 3


def test_a_function_is_submitted_in_a_session(app, database_url):
    @app.job
    def receipt(order: int) -> int:
        return order

    engine = sqlalchemy.create_engine(sqlalchemy_url(database_url, "psycopg"))
    with Session(engine) as session:
        receipt.using(connection=session).submit(1)
        receipt.using(connection=session).submit_many([receipt.call(2)])
        session.commit()
        receipt.using(connection=session).submit(3)
    engine.dispose()

    assert [view.payload for view in app.jobs()] == [{"order": 2}, {"order": 1}]


def test_a_connection_that_commits_by_itself_is_refused(app, database_url):
    engine = sqlalchemy.create_engine(
        sqlalchemy_url(database_url, "psycopg"), isolation_level="AUTOCOMMIT"
    )
    with Session(engine) as session, pytest.raises(UsageError, match="leave AUTOCOMMIT out"):
        app.submit("p", connection=session)
    engine.dispose()
    with (
        closing(Django(database_url)),
        pytest.raises(UsageError, match=r"transaction\.atomic\(using='default'\)"),
    ):
        app.submit("p", connection="default")

    assert app.jobs() == []


def test_a_transaction_of_django_that_is_broken_is_refused(app, database_url):
    with closing(Django(database_url)) as way:
        with suppress(Rollback), way.transaction():
            app.submit("p", connection=of_django)
            raise Rollback
        with way.transaction():
            transaction.set_rollback(True)
            with pytest.raises(transaction.TransactionManagementError, match="atomic"):
                app.submit("p", connection="default")
        with pytest.raises(UsageError, match="DATABASES has only default"):
            app.submit("p", connection="replica")

    assert app.jobs() == []


def test_a_session_on_another_driver_is_refused_with_the_drivers_that_are_taken(app, database_url):
    url = sqlalchemy_url(database_url, "psycopg2")
    elsewhere = "sqlite://" if url.startswith("sqlite") else url
    refusal = "another database in memory" if url.startswith("sqlite") else r"psycopg2.*\+psycopg:"
    engine = sqlalchemy.create_engine(elsewhere)
    with Session(engine) as session, pytest.raises(UsageError, match=refusal):
        app.submit("p", connection=session)
    engine.dispose()
