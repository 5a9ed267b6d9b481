"""How a SQLite file is opened, shared, filled up, damaged and lost."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.instant import FAR_FUTURE
from holdfast.core.job import JobState
from holdfast.errors import InvalidValue, SchemaTooOld, StoreCorrupt, StoreUnavailable, UsageError
from holdfast.store.contract import JobFilter
from holdfast.store.sqlite.connection import CHECKPOINT_BYTES, CHECKPOINT_ROWS
from holdfast.store.sqlite.location import located
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.samples import NOW, new_job, submitted
from holdfast.testing.unprivileged import Account

SCRIPT = Path(__file__).with_name("sqlite_process.py")


def run(*arguments: object, timeout_s: float = 50) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "holdfast.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., SqliteStore]]:
    stores: list[SqliteStore] = []

    def open_(**options: float) -> SqliteStore:
        store = SqliteStore(url, **options)
        stores.append(store)
        store.migrate()
        return store

    yield open_
    for store in stores:
        store.close()


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + "-lock")


def number_of_jobs(store: SqliteStore) -> int:
    return len(store.find(JobFilter(), before=None, limit=100_000))


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


class TestSharing:
    def test_a_stopped_process_makes_a_write_fail_in_time_and_reads_go_on(
        self, url: str, opened
    ) -> None:
        store = opened(write_timeout_s=0.3)
        (job_id,) = submitted(store)
        holder = subprocess.Popen(
            [sys.executable, SCRIPT, "stop_inside_a_transaction", url],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert holder.stdout.readline() == "stopping\n"
            os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
            begun = time.monotonic()
            with pytest.raises(StoreUnavailable, match="keeps it locked; is one of them stopped"):
                submitted(store)
            assert time.monotonic() - begun < 5
            assert set(store.get([job_id])) == {job_id}
        finally:
            holder.send_signal(signal.SIGCONT)
            output, _ = holder.communicate(timeout=20)

        assert output == "gone on\n"
        submitted(store)
        assert number_of_jobs(store) == 2

    def test_a_process_that_starts_while_another_is_stopped_fails_in_time(
        self, url: str, opened
    ) -> None:
        holder = subprocess.Popen(
            [sys.executable, SCRIPT, "stop_inside_a_transaction", url],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert holder.stdout.readline() == "stopping\n"
            with pytest.raises(StoreUnavailable, match="is one of them stopped"):
                opened(write_timeout_s=0.2)
        finally:
            holder.kill()
            holder.communicate(timeout=20)

        submitted(opened())

    def test_a_thread_that_keeps_a_transaction_open_makes_others_fail_in_time(self, opened) -> None:
        store = opened(write_timeout_s=0.2)
        done, holding = threading.Event(), threading.Event()

        def hold() -> None:
            with store.transaction():
                holding.set()
                done.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        holding.wait(20)
        try:
            with pytest.raises(StoreUnavailable, match="another thread of this process"):
                submitted(store)
            assert number_of_jobs(store) == 0
        finally:
            done.set()
            thread.join(20)
        submitted(store)

    def test_a_write_inside_the_stores_own_transaction_must_use_its_connection(
        self, opened
    ) -> None:
        store = opened()

        def misuse() -> None:
            with store.transaction():
                submitted(store)

        with pytest.raises(UsageError, match="pass its connection on"):
            misuse()
        submitted(store)

    def test_memory_may_be_read_inside_its_own_transaction(self) -> None:
        store = SqliteStore("sqlite://:memory:")
        store.migrate()
        new = new_job()

        with store.transaction() as connection:
            store.insert([new], connection=connection)
            found = store.get([new.id])

        assert set(found) == {new.id}
        store.close()

    def test_a_transaction_ended_inside_its_block_is_refused(self, opened) -> None:
        store = opened()

        def misuse() -> None:
            with store.transaction() as connection:
                store.insert([new_job()], connection=connection)
                connection.rollback()

        with pytest.raises(UsageError, match="ended inside its block"):
            misuse()
        assert number_of_jobs(store) == 0

    def test_a_closed_store_says_so(self, opened) -> None:
        store = opened()
        store.close()
        store.close()

        for use in (lambda: submitted(store), lambda: store.get([]), store.listen):
            with pytest.raises(UsageError, match="is closed"):
                use()

    def test_closing_ends_the_waits_of_listeners(self, opened) -> None:
        store = opened()
        listener = store.listen()
        threading.Timer(0.05, store.close).start()
        begun = time.monotonic()

        listener.wait(30)

        assert time.monotonic() - begun < 10
        listener.close()

    def test_a_store_is_not_carried_across_a_fork(self, url: str) -> None:
        finished = run("use_after_fork", url)

        assert finished.returncode == 0, finished.stderr

    def test_a_store_that_was_never_used_may_be_opened_after_a_fork(self, url: str, opened) -> None:
        finished = run("open_after_fork", url)

        assert finished.returncode == 0, finished.stderr
        assert number_of_jobs(opened()) == 1

    def test_a_read_that_became_old_is_not_written_upon(self, opened, path: Path) -> None:
        store = opened()
        new = new_job()
        with closing(sqlite3.connect(path, isolation_level=None)) as caller:
            caller.execute("begin")
            caller.execute("select count(*) from holdfast_job").fetchone()
            submitted(store)

            with pytest.raises(StoreUnavailable, match="SQLITE_BUSY_SNAPSHOT"):
                store.insert([new], connection=caller)
            caller.execute("rollback")

        assert store.get([new.id]) == {}

    def test_processes_and_callers_that_write_at_once_lose_nothing(self, url: str, opened) -> None:
        self.work_together(url, opened, workers=3, jobs=140, callers=60)

    @pytest.mark.slow
    @pytest.mark.timeout(300)
    def test_many_processes_and_callers_that_write_for_long_lose_nothing(
        self, url: str, opened
    ) -> None:
        self.work_together(url, opened, workers=8, jobs=4000, callers=2000)

    def work_together(self, url: str, opened, *, workers: int, jobs: int, callers: int) -> None:
        commands = [["work", url, f"worker-{number}", str(jobs)] for number in range(workers)]
        commands.append(["commit_as_a_caller", url, str(callers)])
        processes = [
            subprocess.Popen([sys.executable, SCRIPT, *command], stderr=subprocess.PIPE, text=True)
            for command in commands
        ]
        errors = [process.communicate(timeout=250)[1] for process in processes]

        assert [process.returncode for process in processes] == [0] * len(processes), errors
        store = opened()
        found = store.find(JobFilter(), before=None, limit=100_000)
        assert len(found) == workers * jobs + callers
        assert {job.state for job in found} <= {JobState.COMPLETE, JobState.QUEUED}
        assert {job.attempt for job in found if job.state is JobState.COMPLETE} == {1}
        broken = {violation.invariant for violation in store.verify(now=NOW)}
        assert broken <= {"plan_is_stored"}


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
