"""Jobs in the caller's own transaction: they exist if and only if it commits."""

from contextlib import contextmanager, suppress

import pytest

from holdfast import Submit
from holdfast.errors import KeyConflict, UnknownJob, VersionConflict
from holdfast.testing import run_inline


class Rollback(Exception):
    pass


@contextmanager
def rolled_back(app):
    """A transaction that ends badly."""
    with suppress(Rollback), app.store.transaction() as connection:
        yield connection
        raise Rollback


def test_a_job_exists_once_the_transaction_has_committed(app):
    with app.store.transaction() as connection:
        job = app.submit("p", {"n": 1}, connection=connection)
        assert app.jobs() == []

    assert job.get().payload == {"n": 1}
    run_inline(app)
    assert job.get().result == 1


def test_a_job_is_gone_with_the_transaction(app):
    with rolled_back(app) as connection:
        job = app.submit("p", key="k", connection=connection)

    with pytest.raises(UnknownJob):
        app.job(job.id)
    assert app.submit("p", {"other": "body"}, key="k").created


def test_the_plan_of_a_job_is_there_although_the_first_transaction_failed(app):
    with rolled_back(app) as connection:
        app.submit("p", connection=connection)
    job = app.submit("p")
    run_inline(app)

    assert job.get().result == 1
    assert app.verify() == []


def test_a_key_used_twice_in_one_transaction_names_one_job(app):
    with app.store.transaction() as connection:
        first = app.submit("p", {"n": 1}, key="k", connection=connection)
        again = app.submit("p", {"n": 1}, key="k", connection=connection)
        with pytest.raises(KeyConflict, match=first.id):
            app.submit("p", {"n": 2}, key="k", connection=connection)

    assert (again.id, again.created) == (first.id, False)
    assert len(app.jobs()) == 1


def test_reruns_in_the_transaction_of_their_first_job_are_linked(app):
    with app.store.transaction() as connection:
        first = app.submit("p", key="k", connection=connection)
        second = app.submit("p", key="k", version=2, rerun=True, connection=connection)
        with pytest.raises(VersionConflict):
            app.submit("p", key="k", version=2, rerun=True, connection=connection)

    assert second.get().job.rerun_of == first.id


def test_many_jobs_in_one_transaction(app):
    with app.store.transaction() as connection:
        results = app.submit_many(
            "p",
            [Submit(key="a"), Submit(key="a"), Submit(key="a", payload=1), Submit(priority=9)],
            connection=connection,
        )

    assert [result.created for result in results] == [True, False, False, False]
    assert [type(result.error).__name__ for result in results] == [
        "NoneType",
        "NoneType",
        "KeyConflict",
        "InvalidValue",
    ]
    assert len(app.jobs()) == 1


def test_the_callers_own_writes_and_the_job_stand_or_fall_together(app):
    with app.store.transaction() as connection:
        connection.execute("create table invoice (job text)")
    for transaction in (app.store.transaction(), rolled_back(app)):
        with transaction as connection:
            job = app.submit("p", connection=connection)
            connection.execute(f"insert into invoice (job) values ('{job.id}')")

    with app.store.transaction() as connection:
        [(stored,)] = connection.execute("select job from invoice").fetchall()
    assert [view.id for view in app.jobs()] == [stored]
