"""Connections of a PostgreSQL store: none is left open by whoever closes them."""

import pytest
from psycopg.pq import TransactionStatus

from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.connection import Connections


@pytest.fixture
def connections(postgres_url: str) -> Connections:
    return Connections(postgres_url, name="test", size=2)


def test_a_connection_that_is_lent_as_the_others_are_closed_is_closed_when_it_comes_back(
    connections: Connections,
) -> None:
    with connections.borrowed() as lent:
        with connections.borrowed() as idle:
            pass
        connections.close()
        assert (idle.closed, lent.closed) == (True, False)
        assert lent.execute("select 1").fetchone() == (1,)

    assert lent.closed


def test_whoever_asks_for_a_connection_after_closing_has_one_that_is_kept(
    connections: Connections,
) -> None:
    with connections.borrowed():
        pass
    connections.close()
    with connections.borrowed() as first:
        pass
    with connections.borrowed() as second:
        pass

    assert second is first
    connections.close()


def test_a_connection_with_an_open_transaction_is_not_lent_again(
    connections: Connections,
) -> None:
    connections.lent_to(lambda lent: lent.execute("begin"))

    with connections.borrowed() as lent:
        assert lent.pgconn.transaction_status == TransactionStatus.IDLE
        assert lent.execute("select now() = statement_timestamp()").fetchone() == (True,)
    connections.close()


def test_a_connection_that_fails_inside_a_transaction_is_not_lent_again(
    connections: Connections,
) -> None:
    def begin_and_fail(lent: BoundedConnection) -> None:
        lent.execute("begin")
        raise LookupError

    with pytest.raises(LookupError):
        connections.lent_to(begin_and_fail)

    with connections.borrowed() as lent:
        assert lent.pgconn.transaction_status == TransactionStatus.IDLE
    connections.close()


def test_a_statement_is_prepared_the_second_time_it_is_run(postgres_url: str) -> None:
    connections = Connections(postgres_url, name="test", size=1)
    counts = []
    with connections.borrowed() as connection:
        for number in range(3):
            connection.execute("select %s + 41", [number])
            found = connection.execute(
                "select count(*) from pg_prepared_statements where statement like %s",
                ["%+ 41"],
                prepare=False,
            )
            counts.append(found.fetchone()[0])
    connections.close()

    assert counts == [0, 1, 1]
