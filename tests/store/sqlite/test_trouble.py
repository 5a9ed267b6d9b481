"""A SQLite file that is full, out of reach, damaged, or without its log."""

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.values.instant import FAR_FUTURE
from holdfast.errors import SchemaTooOld, StoreCorrupt, StoreUnavailable
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.samples import NOW, new_job, submitted
from holdfast.testing.servers.unprivileged import Account
from tests.store.sqlite.database_file import lock_of, log_of, number_of_jobs, run


class TestFull:
    def test_a_full_database_takes_all_of_a_write_or_nothing(self, opened) -> None:
        store = opened()
        (kept,) = submitted(store)
        writer = store._database._open()
        pages = writer.execute("pragma page_count").fetchone()[0]
        writer.execute(f"pragma max_page_count = {pages + 5}")
        batch = [new_job(payload='"' + "x" * 3000 + '"') for _ in range(100)]

        with pytest.raises(StoreUnavailable, match="SQLITE_FULL"):
            store.insert(batch)

        assert not writer.in_transaction
        assert set(store.get([kept, *(job.id for job in batch)])) == {kept}
        writer.execute(f"pragma max_page_count = {pages + 10_000}")
        assert store.insert(batch) == [None] * 100

    def test_a_full_disk_takes_all_of_a_write_or_nothing(self, url: str, opened) -> None:
        finished = run("outgrow_the_disk", url)

        assert finished.returncode == 0, finished.stderr
        reasons = finished.stdout.splitlines()
        assert len(reasons) == 4
        assert all("SQLITE_" in reason for reason in reasons)
        store = opened()
        assert number_of_jobs(store) == 210
        assert "database_is_sound" not in {item.invariant for item in store.verify(now=NOW)}


class TestOutOfReach:
    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        store = SqliteStore(f"sqlite:///{tmp_path / 'absent' / 'jobs.db'}")

        with pytest.raises(StoreUnavailable, match=r"the folder .*absent does not exist"):
            store.migrate()

    def test_a_folder_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "jobs.db").mkdir()

        with pytest.raises(StoreUnavailable, match="SQLITE_CANTOPEN"):
            SqliteStore(f"sqlite:///{tmp_path / 'jobs.db'}").migrate()

    def test_a_file_that_may_not_be_written_is_named(self, url: str, path: Path, opened) -> None:
        opened().close()
        account = Account.for_servers()
        for item in path.parent.iterdir():
            os.chown(item, account.user_id, account.group_id)
        os.chown(path.parent, account.user_id, account.group_id)
        path.chmod(0o444)
        for folder in path.parents[:-2]:
            folder.chmod(folder.stat().st_mode | 0o111)

        finished = run("read_only", "sqlite:///holdfast.db", path, account.user_id)

        assert "read-only for this user" in finished.stdout, finished.stderr


class TestDamage:
    def test_a_file_that_is_no_database_is_refused(self, path: Path, url: str) -> None:
        path.write_text("Dear diary, " * 1000)

        with pytest.raises(StoreCorrupt, match="not a database"):
            SqliteStore(url).migrate()

    @pytest.mark.parametrize("offset", [0, 16, 100])
    def test_a_damaged_head_is_refused(self, path: Path, url: str, opened, offset: int) -> None:
        opened().close()
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(b"\xa5" * 50)

        with pytest.raises(StoreCorrupt):
            SqliteStore(url).check_schema()

    def test_a_file_that_was_cut_off_is_refused(self, path: Path, url: str, opened) -> None:
        store = opened()
        submitted(store, 200)
        store.close()
        os.truncate(path, path.stat().st_size // 2)

        with pytest.raises(StoreCorrupt):
            SqliteStore(url).check_schema()

    def test_damage_met_while_working_is_named(self, path: Path, url: str, opened) -> None:
        store = opened()
        submitted(store, 2000)
        store.close()
        with path.open("r+b") as file:
            third = path.stat().st_size // 3
            file.seek(third)
            file.write(b"\xa5" * third)

        store = opened()

        with pytest.raises(StoreCorrupt, match="restore it from a backup"):
            number_of_jobs(store)


class TestLostLog:
    def test_what_was_committed_survives_a_kill(self, path: Path, url: str, opened) -> None:
        assert run("commit_and_die", url, 25).returncode == -signal.SIGKILL

        assert log_of(path).stat().st_size > 0
        assert number_of_jobs(opened()) == 25

    def test_a_log_that_was_deleted_is_missed(self, path: Path, url: str, opened) -> None:
        opened().close()
        run("commit_and_die", url, 25)
        log_of(path).unlink()

        with pytest.raises(StoreCorrupt, match=r"-wal, which is missing .*delete .*-lock"):
            opened()

        lock_of(path).unlink()
        assert number_of_jobs(opened()) == 0

    def test_a_log_that_another_program_moved_is_not_missed(
        self, path: Path, url: str, opened
    ) -> None:
        run("commit_and_die", url, 25)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("select count(*) from holdfast_job").fetchone()
        assert not log_of(path).exists()

        assert number_of_jobs(opened()) == 25

    def test_an_empty_log_is_not_missed(self, path: Path, url: str, opened) -> None:
        store = opened()
        submitted(store, 25, run_at=FAR_FUTURE)
        store.close()
        assert run("commit_nothing_and_die", url).returncode == -signal.SIGKILL
        log_of(path).unlink()

        assert number_of_jobs(opened()) == 25

    def test_a_log_without_its_database_is_refused(self, path: Path, url: str, opened) -> None:
        run("commit_and_die", url, 25)
        path.unlink()

        with pytest.raises(StoreCorrupt, match=r"is there, but .* is missing"):
            opened()

    def test_closing_leaves_one_whole_file(self, path: Path, url: str, opened) -> None:
        store = opened()
        submitted(store, 25)
        store.close()

        assert not log_of(path).exists()
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        lock_of(path).unlink()
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("select count(*) from holdfast_job").fetchone() == (25,)

    def test_a_store_that_wrote_nothing_may_be_opened_again(self, opened) -> None:
        for _ in range(3):
            store = opened()
            store.claim([], limit=1, holder="w", lease_us=1, now=NOW)
            store.close()

        assert number_of_jobs(opened()) == 0

    def test_a_copy_made_without_the_log_lacks_what_was_in_it(self, path: Path, opened) -> None:
        submitted(opened(), 25)
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        copied = SqliteStore(f"sqlite:///{copy}")

        with pytest.raises(SchemaTooOld):
            copied.check_schema()
        copied.close()
