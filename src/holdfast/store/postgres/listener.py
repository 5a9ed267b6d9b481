"""Wake-ups by LISTEN, on a connection of its own."""

from __future__ import annotations

import logging
import os
import select
import threading
from collections.abc import Callable
from typing import Final

import psycopg

from holdfast.errors import StoreUnavailable
from holdfast.store.contract import Topic
from holdfast.store.postgres.bounded import BoundedConnection

LOGGER: Final = logging.getLogger("holdfast.store")
CHANNEL: Final = "holdfast_{topic}"


class PostgresListener:
    """Hears announcements; a connection that broke is opened again by the next `wait`.

    Through a pooler nothing is announced, and its user is left to poll.
    """

    def __init__(self, connect: Callable[[], BoundedConnection], topic: Topic) -> None:
        self._connect = connect
        self._channel = CHANNEL.format(topic=topic)
        self._connection: BoundedConnection | None = None
        self._pooled = False
        self._closing, self._close_now = os.pipe()
        self._lock = threading.Lock()
        self._waiting = False
        self._close_requested = False
        self._released = False

    def wait(self, timeout_s: float) -> bool:
        """Return True when something was announced, False after `timeout_s` of silence.

        It may also have been announced before anybody listened, so a new connection counts as an
        announcement. A query follows every silence, because a listening connection that died
        without a word would otherwise be silent forever.
        """
        with self._lock:
            if self._released:
                return False
            self._waiting = True
        try:
            return self._wait(timeout_s)
        finally:
            with self._lock:
                self._waiting = False
                if self._close_requested:
                    self._release()

    def _wait(self, timeout_s: float) -> bool:
        try:
            connection = self._connection
            if (connection is None or connection.closed) and not self._pooled:
                self._listen()
                return True
            sources = [] if connection is None else [connection.fileno()]
            readable, _, _ = select.select([*sources, self._closing], [], [], timeout_s)
            if self._closing in readable or connection is None:
                return False
            if not readable:
                connection.execute("select 1")
            return any(True for _ in connection.notifies(timeout=0))
        except (psycopg.Error, OSError) as error:
            self._drop()
            raise StoreUnavailable("the listening connection", reason=str(error)) from error

    def close(self) -> None:
        """Stop listening and give everything back; a `wait` under way does so as it returns."""
        with self._lock:
            if self._released:
                return
            self._close_requested = True
            if self._waiting:
                os.write(self._close_now, b".")
            else:
                self._release()

    def _listen(self) -> None:
        self._connection = self._connect()
        if self._connection.pooled:
            self._drop()
            self._pooled = True
            LOGGER.warning(
                "the database is reached through a pooler, where nobody can listen; due jobs and "
                "messages are found by polling. A direct URL would have them start at once: "
                "HOLDFAST_DATABASE_DIRECT_URL, or Holdfast(direct_url=…)",
                extra={"event": "polling"},
            )
            return
        self._connection.execute(f"listen {self._channel}")

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _release(self) -> None:
        if not self._released:
            self._released = True
            self._drop()
            os.close(self._closing)
            os.close(self._close_now)

    def __del__(self) -> None:
        self._release()
