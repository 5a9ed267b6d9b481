"""A database file, what lies beside it, and other processes that use it."""

import subprocess
import sys
from pathlib import Path

from holdfast.store.contract import JobFilter
from holdfast.store.sqlite.store import SqliteStore
from tests.warm import process as warm_process

SCRIPT = Path(__file__).with_name("sqlite_process.py")


def run(*arguments: object, timeout_s: float = 50) -> subprocess.CompletedProcess[str]:
    return warm_process.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + "-lock")


def number_of_jobs(store: SqliteStore) -> int:
    return len(store.find(JobFilter(), before=None, limit=100_000))
