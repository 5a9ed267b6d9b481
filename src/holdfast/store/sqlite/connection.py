"""Connections to one SQLite database: one that writes, some that read, and who may use which.

All writes and all checkpoints of a process go through one connection, one at a time. Readers have
connections of their own, which cannot write. In memory there is one connection for everything.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from holdfast.errors import ForkedProcess, StoreCorrupt, StoreUnavailable, UsageError
from holdfast.store.sqlite import faults
from holdfast.store.sqlite.bounded import bounded
from holdfast.store.sqlite.filelock import FileLock
from holdfast.store.sqlite.location import located
from holdfast.store.statements.processes import this_process

BUSY_TIMEOUT_S: Final = 5.0
"""How long SQLite itself waits for a connection that is not ours."""
WRITE_TIMEOUT_S: Final = 15.0
"""How long a write waits for its turn among the threads and processes that use the file."""
REPEATS: Final = 3
CHECKPOINT_ROWS: Final = 4_000
CHECKPOINT_BYTES: Final = 8 * 1024 * 1024
_CACHE_KIB: Final = 32 * 1024
_CLOSE_TIMEOUT_S: Final = 1.0

_T = TypeVar("_T")


class Database:
    """The connections of one process to one database; nothing is opened before it is used."""

    def __init__(self, url: str, *, write_timeout_s: float = WRITE_TIMEOUT_S) -> None:
        self.location = located(url)
        self._write_timeout_s = write_timeout_s
        self._opening = threading.Lock()
        self._turn = threading.Lock()
        self._writing_thread: int | None = None
        self._opened_in: int | None = None
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._guard: sqlite3.Connection | None = None
        self._file_lock: FileLock | None = None
        self._idle_readers: deque[sqlite3.Connection] = deque()
        self._lent_readers: set[sqlite3.Connection] = set()
        self._wakers: set[threading.Event] = set()
        self._rows_at_checkpoint = 0
        self._log_bytes_at_checkpoint = 0

    @property
    def in_memory(self) -> bool:
        """Whether the database is gone when this object is."""
        return self.location.path is None

    def write(self, unit: Callable[[sqlite3.Cursor], _T]) -> _T:
        """Run `unit` in a write transaction of its own: all of it is committed, or nothing.

        It is run again, whole, when a connection that is not ours was in the way.
        """
        for repeat in range(REPEATS):
            try:
                with self.transaction() as connection:
                    return unit(connection.cursor())
            except sqlite3.Error as error:
                if repeat < REPEATS - 1 and faults.is_passing(error):
                    continue
                self.raise_named(error)
        raise AssertionError("the loop returns or raises")

    def read(self, query: Callable[[sqlite3.Cursor], _T]) -> _T:
        """Run `query` on what is committed."""
        for repeat in range(REPEATS):
            try:
                with self.reading() as connection:
                    return query(connection.cursor())
            except sqlite3.Error as error:
                if repeat < REPEATS - 1 and faults.is_passing(error):
                    continue
                self.raise_named(error)
        raise AssertionError("the loop returns or raises")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that sees what is committed."""
        with self._reader() as connection, bounded(connection):
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection inside a transaction that is committed at the end."""
        with self._turn_to_write() as writer:
            changes = writer.total_changes
            writer.execute("begin immediate")
            try:
                yield writer
                _commit(writer)
            except BaseException:
                # After SQLITE_FULL or an I/O error SQLite has already rolled back.
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
            if self._file_lock is not None and writer.total_changes != changes:
                self._file_lock.note_commit()
                self._checkpoint_when_due(writer)

    def owns(self, connection: sqlite3.Connection) -> bool:
        """Return whether this is one of the store's own, lent by `transaction` or `reading`."""
        return connection is self._writer or connection in self._lent_readers

    def open_reader(self) -> sqlite3.Connection:
        """Open a connection that cannot write; the caller closes it."""
        self._open()
        return self._connect(mode="ro", busy_timeout_s=BUSY_TIMEOUT_S)

    def add_waker(self, waker: threading.Event) -> None:
        """Have `waker` set whenever this process announces that jobs may be due."""
        self._wakers.add(waker)

    def remove_waker(self, waker: threading.Event) -> None:
        """Forget `waker`."""
        self._wakers.discard(waker)

    def wake(self) -> None:
        """Set every waker."""
        for waker in tuple(self._wakers):
            waker.set()

    def close(self) -> None:
        """Move the log into the database file and close every connection."""
        if self._opened_in not in {None, this_process()}:
            return  # the connections belong to the parent, and closing them here could hurt it
        with self._opening:
            self._closed = True
            if self._writer is None:
                return
            self.wake()
            with self._turn_in_process():
                self._empty_log(self._writer)
                self._drop_connections()

    def _open(self) -> sqlite3.Connection:
        writer = self._writer
        if writer is not None and self._opened_in == this_process() and not self._closed:
            return writer
        if self._opened_in not in {None, this_process()}:
            raise ForkedProcess(opened_in=self._opened_in or 0, used_in=this_process())
        with self._opening:
            if self._closed:
                raise self._is_closed()
            if self._writer is None:
                self._open_writer()
            self._opened_in = this_process()
            writer = self._writer
        if writer is None:
            raise AssertionError("just opened")
        return writer

    def _open_writer(self) -> None:
        path = self.location.path
        if path is None:
            self._writer = self._connect(mode="rwc", busy_timeout_s=BUSY_TIMEOUT_S)
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise self._out_of_reach(f"{path} is read-only for this user")
        try:
            self._file_lock = FileLock(self.location.lock_path)
        except OSError as error:
            raise self._out_of_reach(_why_not_opened(path, error)) from error
        try:
            with self._file_locked(self._file_lock):
                self._refuse_lost_commits(path, self._file_lock)
                self._writer = self._connect(mode="rwc", busy_timeout_s=BUSY_TIMEOUT_S)
                self._use_write_ahead_log(self._writer)
                self._guard = self._connect(mode="rwc", busy_timeout_s=0)
        except BaseException as error:
            self._drop_connections()
            if isinstance(error, sqlite3.Error):
                self.raise_named(error)
            raise

    @contextmanager
    def _file_locked(self, lock: FileLock) -> Iterator[None]:
        if not lock.acquire(timeout_s=self._write_timeout_s):
            raise self._out_of_reach("another process keeps it locked; is one of them stopped?")
        try:
            yield
        finally:
            lock.release()

    def _refuse_lost_commits(self, path: Path, lock: FileLock) -> None:
        """Refuse a database whose latest commits went with its write-ahead log."""
        log = self.location.log_path
        if not path.exists():
            if _size(log):
                raise StoreCorrupt(
                    self.location.url, reason=f"{log} is there, but {path} is missing"
                )
            return
        last_commit_ns = lock.last_commit_ns()
        if log.exists() or last_commit_ns is None:
            return
        if path.stat().st_mtime_ns < last_commit_ns:
            raise StoreCorrupt(
                self.location.url,
                reason=f"its latest commits were in {log}, which is missing "
                f"(to go on without them, delete {self.location.lock_path})",
            )

    def _connect(self, *, mode: str, busy_timeout_s: float) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.location.uri(mode=mode),
            timeout=busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            uri=not self.in_memory,
        )
        try:
            # Checkpoints are made under the file lock, never by a commit of its own accord.
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute("pragma synchronous = full")
            connection.execute("pragma mmap_size = 0").fetchone()
            connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
            connection.execute(f"pragma journal_size_limit = {CHECKPOINT_BYTES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_write_ahead_log(self, writer: sqlite3.Connection) -> None:
        mode = writer.execute("pragma journal_mode = wal").fetchone()[0]
        if mode != "wal":
            raise self._out_of_reach(
                f"its journal mode is {mode!r} and cannot be changed to 'wal'; "
                "is the file or its folder read-only, or on a network file system?"
            )
        # A look at the schema opens the log and meets a damaged file now rather than later.
        writer.execute("select count(*) from sqlite_schema").fetchone()

    @contextmanager
    def _turn_to_write(self) -> Iterator[sqlite3.Connection]:
        writer = self._open()
        with self._turn_in_process():
            if writer is not self._writer:
                raise self._is_closed()
            lock = self._file_lock
            if lock is None:
                yield writer
                return
            with self._file_locked(lock):
                yield writer

    @contextmanager
    def _turn_in_process(self) -> Iterator[None]:
        this_thread = threading.get_ident()
        if self._writing_thread == this_thread:
            raise UsageError(
                "this thread is inside the store's own transaction; pass its connection on"
            )
        if not self._turn.acquire(timeout=self._write_timeout_s):
            raise self._out_of_reach("another thread of this process keeps a transaction open")
        self._writing_thread = this_thread
        try:
            yield
        finally:
            self._writing_thread = None
            self._turn.release()

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        writer = self._open()
        if self.in_memory:
            if self._writing_thread == threading.get_ident():
                yield writer
                return
            with self._turn_to_write() as connection:
                yield connection
            return
        try:
            connection = self._idle_readers.pop()
        except IndexError:
            connection = self.open_reader()
        self._lent_readers.add(connection)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        finally:
            self._lent_readers.discard(connection)
        self._idle_readers.append(connection)
        if self._closed:
            self._close_idle_readers()

    def _checkpoint_when_due(self, writer: sqlite3.Connection) -> None:
        log_bytes = _size(self.location.log_path)
        if (
            writer.total_changes - self._rows_at_checkpoint < CHECKPOINT_ROWS
            and log_bytes - self._log_bytes_at_checkpoint < CHECKPOINT_BYTES
        ):
            return
        guard = self._guard
        if guard is None:
            raise AssertionError("opened with the writer")
        try:
            # Callers commit on connections of their own, without the file lock. While the guard
            # holds SQLite's write lock nobody commits, and this checkpoint coincides with none.
            guard.execute("begin immediate")
        except sqlite3.OperationalError:
            return
        try:
            _, frames, moved = writer.execute("pragma wal_checkpoint(passive)").fetchone()
        except sqlite3.Error:
            # The commit stands in the log; the next one tries again.
            return
        finally:
            guard.execute("rollback")
        self._rows_at_checkpoint = writer.total_changes
        # Once all is moved, the next commit starts the log over and cuts it to its limit.
        self._log_bytes_at_checkpoint = (
            min(log_bytes, CHECKPOINT_BYTES) if frames == moved else log_bytes
        )

    def _empty_log(self, writer: sqlite3.Connection) -> None:
        lock = self._file_lock
        if lock is None or not lock.acquire(timeout_s=_CLOSE_TIMEOUT_S):
            return  # a later writer moves the log
        try:
            writer.execute(f"pragma busy_timeout = {int(_CLOSE_TIMEOUT_S * 1000)}")
            busy, _, _ = writer.execute("pragma wal_checkpoint(truncate)").fetchone()
            if not busy:
                lock.forget_commits()
        except sqlite3.Error:
            pass  # what is committed stays in the log
        finally:
            lock.release()

    def _drop_connections(self) -> None:
        self._close_idle_readers()
        guard, self._guard = self._guard, None
        writer, self._writer = self._writer, None
        for connection in (guard, writer):
            if connection is not None:
                connection.close()
        lock, self._file_lock = self._file_lock, None
        if lock is not None:
            lock.close()

    def _close_idle_readers(self) -> None:
        while self._idle_readers:
            self._idle_readers.pop().close()

    def raise_named(self, error: sqlite3.Error) -> NoReturn:
        """Raise what `error` means to the caller, or `error` itself."""
        meaning = faults.named(error, url=self.location.url)
        if meaning is None:
            raise error
        raise meaning from error

    def _is_closed(self) -> UsageError:
        return UsageError(f"the store {self.location.url} is closed; open a new one")

    def _out_of_reach(self, reason: str) -> StoreUnavailable:
        return StoreUnavailable(self.location.url, reason=reason)


def _commit(writer: sqlite3.Connection) -> None:
    if not writer.in_transaction:
        raise UsageError(
            "the store's transaction was ended inside its block; leave commit and rollback to "
            "the end of the block"
        )
    writer.execute("commit")


def _why_not_opened(path: Path, error: OSError) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    return f"cannot write in {path.parent}: {error.strerror}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
