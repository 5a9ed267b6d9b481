"""Run as a script: another process that uses a SQLite file, in the way its first argument says."""

import os
import resource
import signal
import sqlite3
import sys
import time
from pathlib import Path

from holdfast.core.job.event import Done
from holdfast.core.job.job import JobState, WorkerId
from holdfast.errors import ForkedProcess, StoreUnavailable
from holdfast.store.contract import JobFilter
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.samples import (
    NOW,
    claim,
    decided,
    new_job,
    submitted,
)


def opened(url: str) -> SqliteStore:
    store = SqliteStore(url)
    store.migrate()
    return store


def stop_inside_a_transaction(url: str) -> None:
    store = opened(url)
    with store.transaction():
        print("stopping", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    print("gone on", flush=True)


def commit_and_die(url: str, count: str) -> None:
    store = opened(url)
    for _ in range(int(count)):
        submitted(store)
    os.kill(os.getpid(), signal.SIGKILL)


def commit_nothing_and_die(url: str) -> None:
    store = opened(url)
    assert claim(store) == []
    os.kill(os.getpid(), signal.SIGKILL)


def use_after_fork(url: str) -> None:
    store = opened(url)
    (job_id,) = submitted(store)
    child = os.fork()
    if child == 0:
        refusals = 0
        for use in (lambda: store.get([job_id]), lambda: submitted(store), store.listen):
            try:
                use()
            except ForkedProcess:
                refusals += 1
        store.close()
        os._exit(0 if refusals == 3 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child was allowed to use the store"
    submitted(store)
    assert len(store.find(JobFilter(), before=None, limit=9)) == 2
    store.close()


def open_after_fork(url: str) -> None:
    store = SqliteStore(url)
    child = os.fork()
    if child == 0:
        store.migrate()
        submitted(store)
        store.close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    store.close()


def outgrow_the_disk(url: str) -> None:
    """Runs into the limit of file sizes again and again, and goes on once it is lifted."""
    store = opened(url)
    stored = submitted(store, 10)
    log = Path(f"{store._database.location.path}-wal")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    jobs = claim(store, limit=10)
    for room in (0, 4096, 20_000, 100_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + room, hard))
        batch = [new_job(payload='"' + "x" * 5000 + '"') for _ in range(200)]
        try:
            store.insert(batch)
        except StoreUnavailable as error:
            print(error.reason, flush=True)
        else:
            raise AssertionError("the batch fitted")
        if room == 0:
            try:
                store.apply([decided(job, Done('"x"')) for job in jobs])
            except StoreUnavailable:
                pass
            else:
                raise AssertionError("the decisions fitted")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert not store._database._open().in_transaction
        assert store.get([job.id for job in batch]) == {}
        assert {job.state for job in store.get(stored).values()} == {JobState.PROCESSING}
    assert store.insert(batch) == [None] * 200
    assert len(store.apply([decided(job, Done('"x"')) for job in jobs])) == 10
    store.close()


def read_only(url: str, path: str, user: str) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    os.chdir(Path(path).parent)
    try:
        opened(url)
    except StoreUnavailable as error:
        print(error.reason)


def work(url: str, name: str, count: str) -> None:
    """Submits jobs and drains whatever is due, until everything of everybody is complete."""
    store = opened(url)
    mine = int(count)
    while mine:
        batch = min(mine, 7)
        submitted(store, batch, stage="send")
        mine -= batch
        drain(store, name)
    gives_up_at = time.monotonic() + 30
    while store.queues(now=NOW) and time.monotonic() < gives_up_at:
        drain(store, name)
    store.close()


def drain(store: SqliteStore, name: str) -> None:
    while jobs := claim(store, limit=5, holder=WorkerId(name)):
        applied = store.apply([decided(job, Done(f'"{name}"')) for job in jobs])
        assert applied == {job.id for job in jobs}


def commit_as_a_caller(url: str, count: str) -> None:
    """Commits jobs on a connection of its own, without the store's lock, as callers do."""
    store = opened(url)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
    for _ in range(int(count)):
        store.insert([new_job(stage="send")], connection=connection)
        connection.commit()
    connection.close()
    store.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
