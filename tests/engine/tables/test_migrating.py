"""The tables of a system: applied after the engine's own, each file once, and only forward."""

import pytest

from holdfast import Holdfast
from holdfast.errors import SchemaTooNew, SchemaTooOld, UsageError
from tests.engine.tables.conftest import FIRST
from tests.store.conftest import script_by_hand

SECOND = """
alter table shop.orders add column place text;
create table shop.carriers (name text primary key);
"""
THIRD = "drop index shop_orders_by_goods;\n"


def columns(app: Holdfast) -> int:
    with app.transaction() as tx:
        tx.execute("insert into shop.orders (id, goods, pieces) values ('x', 'rope', 1)")
        found = tx.row("select * from shop.orders")
        tx.execute("delete from shop.orders")
    return len(found)


def test_each_file_is_applied_once_and_in_order(open_app, tables) -> None:
    assert open_app(tables=tables(FIRST)).store.migrate() == []
    later = open_app(tables=tables(FIRST, SECOND, THIRD))

    assert [name for name, _ in later.unopened_store.pending_migrations()] == [
        "shop/0002_step",
        "shop/0003_step",
    ]
    assert later.unopened_store.migrate() == ["shop/0002_step", "shop/0003_step"]
    assert later.unopened_store.pending_migrations() == []
    assert columns(later) == 6


def test_an_application_that_may_not_migrate_says_whose_tables_are_old(open_app, tables) -> None:
    open_app(tables=tables(FIRST)).store.check_schema()
    later = open_app(tables=tables(FIRST, SECOND), auto_migrate=False)

    with pytest.raises(SchemaTooOld, match="'shop'") as caught:
        later.jobs()
    assert (caught.value.found, caught.value.needed, caught.value.system) == (1, 2, "shop")


def test_older_code_leaves_newer_tables_alone(open_app, tables) -> None:
    open_app(tables=tables(FIRST, SECOND)).store.check_schema()

    with pytest.raises(SchemaTooNew, match="upgrade the system's package") as caught:
        open_app(tables=tables(FIRST)).jobs()
    assert (caught.value.found, caught.value.supported, caught.value.system) == (2, 1, "shop")


def test_an_applied_file_whose_text_changed_is_refused(open_app, tables) -> None:
    open_app(tables=tables(FIRST)).store.check_schema()

    with pytest.raises(UsageError, match=r"shop/0001_step was applied .* another text"):
        open_app(tables=tables(FIRST.replace("weight", "mass"))).jobs()


def test_a_file_that_fails_leaves_nothing_of_itself(open_app, tables) -> None:
    broken = f"{SECOND}\ninsert into shop.nosuch values (1);\n"
    with pytest.raises(Exception, match="nosuch"):
        open_app(tables=tables(FIRST, broken)).jobs()

    assert columns(open_app(tables=tables(FIRST))) == 5


def test_what_is_pending_may_be_run_by_hand(database_url: str, open_app, tables) -> None:
    given = tables(FIRST, SECOND, THIRD)
    for _, text in open_app(tables=given).unopened_store.pending_migrations():
        script_by_hand(database_url, text)

    by_hand = open_app(tables=given, auto_migrate=False)
    assert columns(by_hand) == 6


def test_applications_without_those_tables_go_on_beside_them(open_app, tables) -> None:
    open_app(tables=tables(FIRST)).store.check_schema()

    assert open_app().jobs() == []


@pytest.mark.parametrize("name", ["holdfast", "holdfast_x", "public", "pg_own", "post-office", "S"])
def test_a_name_that_no_schema_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot have tables"):
        Holdfast("sqlite:///:memory:", tables={name: "anything"})


def test_files_are_numbered_one_by_one(tables) -> None:
    for names in (("0002_a.sql",), ("first.sql",), ("0001_a.sql", "0003_b.sql")):
        given = tables(*([FIRST] * len(names)), names=names)
        with pytest.raises(UsageError, match="has to be called 000"):
            Holdfast("sqlite:///:memory:", tables=given)


def test_a_package_without_files_is_refused(tables) -> None:
    with pytest.raises(UsageError, match="has no file"):
        Holdfast("sqlite:///:memory:", tables=tables("", names=("notes.txt",)))
    with pytest.raises(UsageError, match="no package 'nosuch'"):
        Holdfast("sqlite:///:memory:", tables={"shop": "nosuch"})
