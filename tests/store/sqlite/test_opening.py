"""Where a SQLite file lies, and how it is opened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import InvalidValue
from holdfast.store.sqlite.connection import CHECKPOINT_BYTES, CHECKPOINT_ROWS
from holdfast.store.sqlite.location import located
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.samples import submitted
from tests.store.sqlite.database_file import log_of


class TestLocation:
    def test_three_slashes_are_relative_and_four_absolute(self, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)

        assert located("sqlite:///jobs.db").path == tmp_path / "jobs.db"
        assert located("sqlite:////srv/jobs.db").path == Path("/srv/jobs.db")
        assert located("sqlite://:memory:").path is None

    @pytest.mark.parametrize(
        "url",
        [
            "sqlite:",
            "sqlite://",
            "sqlite:///",
            "sqlite://jobs.db",
            "sqlite:///jobs.db?mode=ro",
            "sqlite:///jobs\0.db",
            "postgresql:///jobs",
        ],
    )
    def test_another_url_is_refused(self, url: str) -> None:
        with pytest.raises(InvalidValue, match=r"sqlite:///relative\.db"):
            SqliteStore(url)

    def test_a_path_may_hold_any_character(self, tmp_path: Path) -> None:
        store = SqliteStore(f"sqlite:///{tmp_path / 'a b%20#é.db'}")
        store.migrate()
        store.close()

        assert (tmp_path / "a b%20#é.db").exists()

    def test_a_change_of_folder_does_not_change_the_file(self, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        store = SqliteStore("sqlite:///jobs.db")
        monkeypatch.chdir("/")
        store.migrate()
        store.close()

        assert (tmp_path / "jobs.db").exists()


class TestSettings:
    def connections(self, store: SqliteStore) -> dict[str, sqlite3.Connection]:
        database = store._database
        store.get([])
        return {
            "writer": database._open(),
            "guard": database._guard,
            "reader": database._idle_readers[0],
            "listener": store.listen()._watching,
        }

    @pytest.mark.parametrize(
        ("pragma", "value"),
        [
            ("journal_mode", "wal"),
            ("synchronous", 2),
            ("wal_autocheckpoint", 0),
            ("mmap_size", 0),
            ("journal_size_limit", CHECKPOINT_BYTES),
        ],
    )
    @pytest.mark.parametrize("role", ["writer", "guard", "reader", "listener"])
    def test_every_connection_is_safe(self, opened, role: str, pragma: str, value: object) -> None:
        connection = self.connections(opened())[role]

        assert connection.execute(f"pragma {pragma}").fetchone()[0] == value
        assert connection.isolation_level is None

    @pytest.mark.parametrize("role", ["reader", "listener"])
    def test_only_the_writer_can_write(self, opened, role: str) -> None:
        connection = self.connections(opened())[role]

        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("delete from holdfast_job")

    def test_reserved_stores_share_the_one_connection_that_writes(self, opened) -> None:
        store = opened()
        reserved = store.reserve("keeper")

        assert reserved._database is store._database
        reserved.close()
        submitted(store)

    def test_the_log_stays_small_however_much_is_written(self, opened, path: Path) -> None:
        store = opened()
        payload = '"' + "x" * 10_000 + '"'
        largest = 0
        for _ in range(80):
            submitted(store, 100, payload=payload)
            largest = max(largest, log_of(path).stat().st_size)

        assert path.stat().st_size > 8 * CHECKPOINT_BYTES
        assert largest < 3 * CHECKPOINT_BYTES

    def test_the_log_is_moved_even_if_small_jobs_trickle_in(self, opened, path: Path) -> None:
        store = opened()
        written_at_first = path.stat().st_size
        for _ in range(CHECKPOINT_ROWS // 40 + 1):
            submitted(store, 40)

        assert path.stat().st_size > written_at_first

    def test_a_checkpoint_waits_while_a_caller_writes(self, opened, path: Path) -> None:
        store = opened()
        submitted(store)
        database = store._database
        with closing(sqlite3.connect(path, isolation_level=None)) as caller:
            caller.execute("begin immediate")
            size = path.stat().st_size
            database._rows_at_checkpoint = -(10**9)

            database._checkpoint_when_due(database._open())
            assert path.stat().st_size == size

            caller.execute("rollback")
        database._checkpoint_when_due(database._open())
        assert path.stat().st_size > size
