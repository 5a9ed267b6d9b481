"""Statements of systems, which both databases take alike."""

from contextlib import suppress
from typing import Any

import pytest

from holdfast.errors import ConstraintViolated, StatementRefused, UsageError
from holdfast.store.contract import Store
from holdfast.store.schema.migrate import Migration
from holdfast.store.schema.system_tables import SystemTables

TEXT = """
create table depot.boxes (id bigint not null primary key, label text);
"""
TABLES = SystemTables("depot", (Migration(1, "depot/0001_boxes", TEXT),))
INSERT = "insert into depot.boxes (id, label) values (:id, :label)"


def _labels(store: Store) -> list[Any]:
    with store.transaction() as connection:
        text = "select label from depot.boxes order by id"
        return [row["label"] for row in store.run_statement(text, {}, connection=connection).rows]


class StatementConformance:
    """What a store promises about the tables of systems."""

    @pytest.fixture
    def with_tables(self, store: Store) -> Store:
        """A store with a table of a system."""
        store.tables = (TABLES,)
        assert store.migrate() == ["depot/0001_boxes"]
        return store

    def test_a_statement_commits_with_its_transaction_or_not_at_all(
        self, with_tables: Store
    ) -> None:
        store = with_tables
        with store.transaction() as connection:
            ran = store.run_statement(INSERT, {"id": 1, "label": "100 %"}, connection=connection)
            assert ran.changed == 1
        with suppress(LookupError), store.transaction() as connection:
            store.run_statement(INSERT, {"id": 2, "label": None}, connection=connection)
            raise LookupError

        assert _labels(store) == ["100 %"]

    def test_rows_that_a_constraint_does_not_allow_are_a_conflict(self, with_tables: Store) -> None:
        store = with_tables
        twice = f"{INSERT}, (:id, :label)"
        with pytest.raises(ConstraintViolated), store.transaction() as connection:
            store.run_statement(twice, {"id": 1, "label": "x"}, connection=connection)

        assert _labels(store) == []

    def test_a_statement_that_cannot_be_run_is_refused(self, with_tables: Store) -> None:
        store = with_tables
        with pytest.raises(StatementRefused), store.transaction() as connection:
            store.run_statement("select nothing of it", {}, connection=connection)
        with pytest.raises(UsageError), store.transaction() as connection:
            store.run_statement(INSERT, {"id": 1}, connection=connection)

    def test_tables_are_migrated_once(self, with_tables: Store) -> None:
        with_tables.check_schema()

        assert with_tables.pending_migrations() == []
        assert with_tables.migrate() == []
