"""Connections that do not wait forever for a server that fell silent.

The server bounds its statements itself, and TCP notices a machine that is gone. Neither helps when
something answers for the server and passes nothing on, or when its processes stand still.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.generators import fetch, send
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus
from psycopg.pq.abc import PGresult

_T = TypeVar("_T")


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes itself when an answer takes longer than `answer_timeout_s`."""

    answer_timeout_s: float | None = None
    statement_timeout_s: float | None = None
    """After how long the server breaks a statement off."""
    asleep: int = 0
    """How many of the next answers that are read past the driver are waited for asleep."""
    misses: int = 0
    """How many of them in a row were looked for and not found."""
    pooled: bool = False
    """Whether a pooler is in between, so that nothing of the session lasts."""
    answer_left: bool = False
    """Whether the server's answer to what was sent last has not been read; see `collected`."""

    @cached_property
    def answers(self) -> select.poll:
        """Tells when something has come from the server."""
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return poll

    @cached_property
    def prepared(self) -> dict[str, bytes]:
        """The statements that were prepared past the driver, with what the server calls them."""
        return {}

    def wait(self, gen: PQGen[_T], *args: Any, **options: Any) -> _T:  # noqa: ANN401 - as given
        """Wait for an answer; `OperationalError` when none comes in time."""
        if self.answer_timeout_s is None:
            return super().wait(gen, *args, **options)
        return super().wait(self._in_time(gen, self.answer_timeout_s), *args, **options)

    def leave(self, query: bytes) -> None:
        """Send a statement without waiting for the answer; `collected` before the next one."""
        self.answer_left = True
        self.pgconn.send_query(query)
        self.pgconn.flush()

    def collected(self) -> bool:
        """Read the answer that was left, whatever it says; False when the connection is lost."""
        if self.answer_left:
            self.answer_left = False
            try:
                self._collect()
            except psycopg.Error:
                self.close()
        return not self.closed

    def _collect(self) -> None:
        pgconn = self.pgconn
        if pgconn.flush():
            self.wait(send(pgconn))
        pgconn.consume_input()
        while True:
            # It is mostly there already, and to be ready to wait takes longer than to read it.
            result = self.wait(fetch(pgconn)) if pgconn.is_busy() else pgconn.get_result()
            if self.is_end(result):
                break
        if pgconn.pipeline_status != PipelineStatus.OFF:
            pgconn.exit_pipeline_mode()

    def is_end(self, result: PGresult | None) -> bool:
        """Return whether the answer to a statement ends here, and what the statement did is kept.

        Of several statements that were sent together, each ends with a result of its own.
        """
        pgconn = self.pgconn
        if result is None:
            alone = pgconn.pipeline_status == PipelineStatus.OFF
            return alone or pgconn.status != ConnStatus.OK
        return result.status == ExecStatus.PIPELINE_SYNC

    def give_up(self, timeout_s: float) -> NoReturn:
        """Close the connection to a server that has been silent for too long."""
        self.close()
        raise psycopg.OperationalError(f"no answer for {timeout_s:g} s")

    def _in_time(self, gen: PQGen[_T], timeout_s: float) -> PQGen[_T]:
        # The driver looks in now and then while nothing happens, with nothing in its hands.
        ends_at = time.monotonic() + timeout_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > ends_at:
                    self.give_up(timeout_s)
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


@contextmanager
def unbounded(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Let statements on `connection` take their time inside the block."""
    if not isinstance(connection, BoundedConnection):
        yield
        return
    bound, connection.answer_timeout_s = connection.answer_timeout_s, None
    try:
        yield
    finally:
        connection.answer_timeout_s = bound
