"""Rows of a program's own beside jobs and messages, in one transaction, on both databases."""

import threading
from contextlib import suppress
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.errors import ConstraintViolated, StatementRefused, StoreUnavailable, UsageError
from holdfast.transactions import Transaction

INSERT = "insert into shop.orders (id, goods, pieces) values (:id, :goods, :pieces)"


@pytest.fixture
def app(open_app, tables) -> Holdfast:
    packing = Pipeline("packing")
    packing.stage(name="pack")(lambda job: None)
    return open_app(packing, tables=tables())


def add(tx: Transaction, number: str, goods: str = "rope", pieces: int = 1) -> int:
    return tx.execute(INSERT, {"id": number, "goods": goods, "pieces": pieces})


def orders(app: Holdfast) -> list[str]:
    with app.transaction() as tx:
        return [row["id"] for row in tx.rows("select id from shop.orders order by id")]


def test_rows_jobs_and_messages_commit_together(app: Holdfast) -> None:
    with app.transaction() as tx:
        assert add(tx, "a") == 1
        job = app.submit("packing", {}, connection=tx.connection)
        app.publish("order.made", {"id": "a"}, connection=tx.connection)

    assert orders(app) == ["a"]
    assert [view.id for view in app.jobs()] == [job.id]
    assert len(app.outbox.find()) == 1


def test_an_exception_leaves_nothing_of_it(app: Holdfast) -> None:
    with suppress(LookupError), app.transaction() as tx:
        add(tx, "a")
        app.submit("packing", {}, connection=tx.connection)
        app.publish("order.made", {"id": "a"}, connection=tx.connection)
        raise LookupError

    assert orders(app) == []
    assert app.jobs() == []
    assert app.outbox.find() == []


def test_a_transaction_sees_its_own_rows_and_others_do_not(app: Holdfast, open_app, tables) -> None:
    other = open_app(tables=tables())
    other.store.check_schema()
    with app.transaction() as tx:
        add(tx, "a")
        assert tx.row("select count(*) as found from shop.orders") == {"found": 1}
        assert other.jobs() == []

    assert orders(other) == ["a"]


def test_part_of_a_callers_transaction_commits_with_it(app: Holdfast) -> None:
    with suppress(LookupError), app.store.transaction() as connection:
        with app.transaction(connection=connection) as tx:
            add(tx, "lost")
        raise LookupError
    with app.store.transaction() as connection, app.transaction(connection=connection) as tx:
        add(tx, "kept")

    assert orders(app) == ["kept"]


def test_rows_come_back_by_the_names_of_their_columns_and_alike(app: Holdfast) -> None:
    with app.transaction() as tx:
        for number, pieces in (("a", 2), ("b", 5)):
            add(tx, number, "100 % rope: it's 'good'", pieces)
        tx.execute("update shop.orders set weight = 1.5, label = :label", {"label": b"\x00\x01"})

        assert tx.rows("select * from shop.orders where id = :id", {"id": "b"}) == [
            {
                "id": "b",
                "goods": "100 % rope: it's 'good'",
                "pieces": 5,
                "weight": 1.5,
                "label": b"\x00\x01",
            }
        ]
        total = tx.row("select sum(pieces) as pieces, avg(weight) as weight from shop.orders")
        assert total == {"pieces": 7, "weight": 1.5}
        assert [type(value) for value in total.values()] == [int, float]


def test_text_that_looks_like_a_value_or_a_table_stays_text(app: Holdfast) -> None:
    with app.transaction() as tx:
        add(tx, "a")
        found = tx.row("select 'shop.orders :no 5%' as said, goods from shop.orders -- :never")

    assert found == {"said": "shop.orders :no 5%", "goods": "rope"}


def test_how_many_rows_were_changed_is_returned(app: Holdfast) -> None:
    with app.transaction() as tx:
        add(tx, "a")
        again = f"{INSERT} on conflict (id) do nothing"

        assert tx.execute(again, {"id": "a", "goods": "x", "pieces": 1}) == 0
        assert tx.execute("update shop.orders set pieces = 3") == 1
        assert tx.execute("select * from shop.orders") == 0
        made = tx.row(f"{INSERT} returning id", {"id": "b", "goods": "x", "pieces": 1})
        assert made == {"id": "b"}


def test_a_row_that_no_constraint_allows_is_a_conflict(app: Holdfast) -> None:
    with app.transaction() as tx:
        add(tx, "a")

    with pytest.raises(ConstraintViolated, match="orders"), app.transaction() as tx:
        add(tx, "a")


def test_an_error_that_is_swallowed_does_not_commit_half_of_it(app: Holdfast) -> None:
    def swallow() -> None:
        with app.transaction() as tx:
            add(tx, "a")
            with pytest.raises(ConstraintViolated):
                add(tx, "a")

    with pytest.raises(UsageError, match="rolled back"):
        swallow()

    assert orders(app) == []


def test_a_statement_that_cannot_be_run_says_why(app: Holdfast) -> None:
    with pytest.raises(StatementRefused, match="nosuch"), app.transaction() as tx:
        tx.execute("update shop.nosuch set id = 1")

    assert orders(app) == []


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"goods": "x", "pieces": 1}, "has :id, and values has no 'id'"),
        ({"id": "a", "goods": ["x"], "pieces": 1}, "'goods' is a list"),
    ],
)
def test_values_that_are_missing_or_cannot_be_stored_are_refused(
    app: Holdfast, values: dict, why: str
) -> None:
    with pytest.raises(UsageError, match=why), app.transaction() as tx:
        tx.execute(INSERT, values)


def test_row_is_for_one_row(app: Holdfast) -> None:
    with app.transaction() as tx:
        assert tx.row("select id from shop.orders") is None
        add(tx, "a")
        add(tx, "b")
        with pytest.raises(UsageError, match="2 rows"):
            tx.row("select id from shop.orders")


def test_its_time_is_the_stores(app: Holdfast, clock) -> None:
    with app.transaction() as tx:
        before = tx.now
    clock.advance(90)
    with app.transaction() as tx:
        assert tx.now - before == timedelta(seconds=90)
        assert tx.now.tzinfo is UTC


def test_a_database_that_is_away_is_unavailable(tables, tmp_path: Path) -> None:
    for url in ("postgresql://127.0.0.1:1/none", f"sqlite:///{tmp_path}/nowhere/holdfast.db"):
        app = Holdfast(url, tables=tables())
        with pytest.raises(StoreUnavailable), app.transaction():
            pass
        app.close()


def test_a_connection_lost_in_the_middle_is_unavailable(tables, postgres_url) -> None:
    app = Holdfast(postgres_url, tables=tables())

    with pytest.raises(StoreUnavailable), app.transaction() as tx:
        tx.rows("select pg_terminate_backend(pg_backend_pid())")

    assert orders(app) == []
    app.close()


def test_what_is_committed_is_read_while_somebody_writes(app: Holdfast) -> None:
    with app.transaction() as tx:
        add(tx, "a")
    with app.transaction() as tx:
        add(tx, "b")
        with app.reading() as db:
            found = db.rows("select id from shop.orders")
            one = db.row("select goods from shop.orders where id = :id", {"id": "a"})

    assert (found, one) == ([{"id": "a"}], {"goods": "rope"})


def test_a_reading_waits_for_no_turn_to_write(app: Holdfast) -> None:
    began, over, found = threading.Event(), threading.Event(), []

    def write() -> None:
        with app.transaction() as tx:
            add(tx, "a")
            began.set()
            over.wait(10)

    writing = threading.Thread(target=write)
    writing.start()
    began.wait(10)
    with app.reading() as db:
        found = db.rows("select id from shop.orders")
    over.set()
    writing.join()

    assert (found, orders(app)) == ([], ["a"])


@pytest.mark.parametrize(
    "sql",
    [
        "delete from shop.orders",
        "update shop.orders set pieces = 2 returning id",
        "with gone as (Delete from shop.orders returning id) select id from gone",
        "select id from shop.orders for update",
    ],
)
def test_a_reading_refuses_to_write(app: Holdfast, sql: str) -> None:
    with app.transaction() as tx:
        add(tx, "a")
    with pytest.raises(UsageError, match="transaction"), app.reading() as db:
        db.rows(sql)

    with app.reading() as db:
        assert db.row("select pieces, 'update' as word from shop.orders") == {
            "pieces": 1,
            "word": "update",
        }


def test_a_transaction_of_one_statement_is_committed(app: Holdfast) -> None:
    with app.transaction(one_statement=True) as tx:
        assert add(tx, "a") == 1
    with app.transaction(one_statement=True):
        pass

    assert orders(app) == ["a"]


def test_a_transaction_of_one_statement_takes_no_other(app: Holdfast) -> None:
    with (
        pytest.raises(UsageError, match="one statement"),
        app.transaction(one_statement=True) as tx,
    ):
        list(map(partial(add, tx), "ab"))
    with (
        pytest.raises(UsageError, match="one_statement"),
        app.transaction(one_statement=True) as tx,
    ):
        app.submit("packing", {}, connection=tx.connection)

    assert app.jobs() == []
    assert "b" not in orders(app)


def test_a_statement_that_fails_alone_leaves_the_connection_as_it_was(app: Holdfast) -> None:
    for block in (app.reading, lambda: app.transaction(one_statement=True)):
        with pytest.raises(StatementRefused), block() as db:
            db.rows("select nothing from shop.orders")
    with app.transaction(one_statement=True) as tx:
        add(tx, "a")

    assert orders(app) == ["a"]


def test_a_reading_knows_the_time_of_the_store(app: Holdfast, clock) -> None:
    with app.reading() as db:
        before = db.now
    clock.advance(90)
    with app.reading() as db:
        assert db.now - before == timedelta(seconds=90)
