"""Wakes listeners after commits, at most once in some milliseconds.

A commit that notifies keeps a lock of the whole database server until it is on disk, so that others
who notify wait for it. Transactions that write therefore notify nobody: a notification is a
transaction of its own, which writes nothing and waits for no disk.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple
from weakref import WeakSet

from holdfast.store.contract import Topic
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.rows import plain_array, text_array
from holdfast.store.postgres.statements import fetch, text

LOGGER: Final = logging.getLogger("holdfast.store")
REST_S: Final = 0.005
"""How long after a notification the next one waits; what comes meanwhile is one notification."""
FIRST_LOOK_S: Final = 0.002
"""When after a submission it is first looked whether the caller's transaction has committed."""
LONGEST_GAP_S: Final = 1.0
"""Between two looks at a transaction that stays open."""
WATCHED_S: Final = 3600.0
MAX_WATCHED: Final = 10_000
TROUBLE_S: Final = 0.25
TRIES: Final = 3
"""So many failures in a row, and polling has to find what is due."""
CLOSE_S: Final = 2.0
_STATEMENTS: Final[Mapping[Topic, str]] = {
    "due": "announce_due",
    "outbox": "announce_outbox",
    "ended": "announce_ended",
}


class _Watched(NamedTuple):
    """A caller's transaction, and whom to wake when it has committed."""

    xact: int
    topic: Topic


class _Looks(NamedTuple):
    since_s: float
    next_s: float


class Notifier:
    """Wakes the listeners of all processes; never fails its callers, and never makes them wait.

    A notification goes out at once, on a connection that lies idle, and nobody waits for its
    answer. Those that follow within `REST_S` are joined into one, which a thread sends. The same
    thread asks the server whether transactions of callers have committed.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.forget()
        _LIVE.add(self)

    def forget(self) -> None:
        """Start afresh: in a forked process there is no thread, and what waits is the parent's."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._pending: set[Topic] = set()
        self._watched: dict[_Watched, _Looks] = {}
        self._quiet_until_s: defaultdict[Topic, float] = defaultdict(float)
        self._failures = 0

    def statement_now(self, topic: Topic) -> str | None:
        """Return the statement that the server is to run right after the next commit.

        Within `REST_S` of the last notification that is None; then `notify` has to be called.
        """
        with self._changed:
            now_s = time.monotonic()
            if now_s < self._quiet_until_s[topic]:
                return None
            self._quiet_until_s[topic] = now_s + REST_S
        return _STATEMENTS[topic]

    def notify(self, topic: Topic) -> None:
        """Wake listeners, now or `REST_S` after the last time; call it after the commit."""
        statement = self.statement_now(topic)
        if statement is None or not self._connections.left_with_idle(text(statement).encode()):
            with self._changed:
                self._leave_to_thread(topic)

    def watch(self, topic: Topic, xact: int | None) -> None:
        """Wake listeners once the transaction of that number has committed; None is for none."""
        if xact is None:
            return
        with self._changed:
            if len(self._watched) >= MAX_WATCHED:
                del self._watched[next(iter(self._watched))]
            now_s = time.monotonic()
            self._watched[_Watched(xact, topic)] = _Looks(now_s, now_s + FIRST_LOOK_S)
            self._call_thread(news=len(self._watched) == 1)

    def close(self) -> None:
        """Send what is left, look once more at what is watched, and end the thread."""
        with self._changed:
            thread = self._thread
            if thread is None:
                return
            self._closing = True
            self._changed.notify()
        thread.join(CLOSE_S)

    def _leave_to_thread(self, topic: Topic) -> None:
        news = topic not in self._pending
        self._pending.add(topic)
        self._call_thread(news=news)

    def _call_thread(self, *, news: bool) -> None:
        """Have the thread look when it is next needed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="holdfast-notifier", daemon=True)
            self._thread.start()
        elif news:
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (wait_s := self._wait_s()) != 0:
                    self._changed.wait(wait_s)
                topics, watched = self._taken()
                if not topics and not watched:
                    self._thread, self._closing = None, False
                    return
            self._send(topics, watched)

    def _wait_s(self) -> float | None:
        """Return in how many seconds there is something to send; None while there is nothing."""
        if self._pending:
            at_s = min(self._quiet_until_s[topic] for topic in self._pending)
        elif self._watched:
            at_s = min(
                max(self._quiet_until_s[each.topic], looks.next_s)
                for each, looks in self._watched.items()
            )
        else:
            return None
        return max(at_s - time.monotonic(), 0)

    def _taken(self) -> tuple[set[Topic], dict[_Watched, _Looks]]:
        """Take what is to be sent now, and all that is watched: one question is about all of it."""
        topics, self._pending = self._pending, set()
        watched, self._watched = self._watched, {}
        self._rest(REST_S, topics, watched)
        return topics, watched

    def _rest(self, rest_s: float, topics: set[Topic], watched: Iterable[_Watched]) -> None:
        """Send nothing more of these topics for a while."""
        until_s = time.monotonic() + rest_s
        for topic in topics.union(each.topic for each in watched):
            self._quiet_until_s[topic] = until_s

    def _send(self, topics: set[Topic], watched: dict[_Watched, _Looks]) -> None:
        values = {
            "topics": text_array(sorted(topics)),
            "xact": plain_array(each.xact for each in watched),
            "topic": text_array(each.topic for each in watched),
        }
        announce = partial(fetch, statement="announce", values=values)
        try:
            [(still_open, _)] = self._connections.lent_to(announce)
        except Exception as error:  # noqa: BLE001 - polling is behind it, and the thread goes on
            self._failed(error, topics, watched)
            return
        now_s = time.monotonic()
        with self._changed:
            self._failures = 0
            if self._closing:
                return
            for each, (since_s, _) in watched.items():
                if each.xact in still_open and now_s - since_s < WATCHED_S:
                    gap_s = min(max((now_s - since_s) / 2, REST_S), LONGEST_GAP_S)
                    self._watched.setdefault(each, _Looks(since_s, now_s + gap_s))

    def _failed(
        self, error: Exception, topics: set[Topic], watched: dict[_Watched, _Looks]
    ) -> None:
        LOGGER.debug("listeners could not be notified: %s", error)
        with self._changed:
            self._failures += 1
            if self._closing or self._failures >= TRIES:
                self._failures = 0
                return
            self._rest(TROUBLE_S, topics, watched)
            self._pending |= topics
            self._watched = {**watched, **self._watched}


_LIVE: Final[WeakSet[Notifier]] = WeakSet()


def _close_all() -> None:
    for notifier in tuple(_LIVE):
        notifier.close()


def _forget_all() -> None:
    for notifier in tuple(_LIVE):
        notifier.forget()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
