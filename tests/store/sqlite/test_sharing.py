"""A SQLite file that several processes share."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.job.job import JobState
from holdfast.errors import StoreUnavailable, UsageError
from holdfast.store.contract import JobFilter
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.samples import NOW, new_job, submitted
from tests.store.sqlite.database_file import SCRIPT, number_of_jobs, run
from tests.warm.process import WarmProcess


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
            WarmProcess([sys.executable, SCRIPT, *command], stderr=subprocess.PIPE, text=True)
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
