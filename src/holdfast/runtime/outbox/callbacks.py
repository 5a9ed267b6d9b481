"""Callbacks: the key that signs their tokens, and replies that count once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from holdfast.core.job.decision import Decision
from holdfast.core.values.callback import Claim, read
from holdfast.core.values.ids import JobId
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.secrecy import keep_secret
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.consumer")
REPLIES: Final = "replies"
"""The consumer under whose name replies are noted, whichever way they come."""
_KEY: Final = "callback"
_WORDS: Final = 4


class CallbackTokens:
    """Reads tokens, and has the key that they are signed with."""

    def __init__(self, store: Store, *, clock: Clock, chance: Chance) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._key: bytes | None = None
        self._lock = threading.Lock()

    def read(self, token: str) -> Claim | None:
        """Return what a token says, or None when nobody here issued it."""
        return read(token, key=self.key())

    def key(self) -> bytes:
        """Return the key, which is made when the first token is."""
        with self._lock:
            if self._key is None:
                fresh = "".join(f"{self._chance.bits(64):016x}" for _ in range(_WORDS))
                now = self._clock.now()
                text = self._store.secrets.get_or_make(_KEY, fresh, now=now)
                keep_secret([text])
                self._key = bytes.fromhex(text)
            return self._key


class HandledBefore(Exception):
    """The reply was noted by another since it was looked for."""


def was_handled(store: Store, message_id: str) -> bool:
    """Return whether a reply has had its effect, and log that it came again."""
    if not store.inbox.has(REPLIES, message_id):
        return False
    _log_repeated(message_id)
    return True


def write_once(decision: Decision, *, message_id: str, store: Store, clock: Clock) -> bool:
    """Apply a decision and note the reply that led to it, both or neither; False when it is stale.

    Raises `HandledBefore` when the reply is noted already.
    """
    with suppress(_Stale), store.transaction() as connection:
        if not store.inbox.take(REPLIES, message_id, now=clock.now(), connection=connection):
            _log_repeated(message_id)
            raise HandledBefore(message_id)
        if not store.apply([decision], connection=connection):
            raise _Stale
        return True
    return False


def write_together(
    decisions: Sequence[Decision], *, message_ids: Collection[str], store: Store, clock: Clock
) -> Collection[JobId]:
    """Apply decisions and note the replies that led to them; return whose decisions were applied.

    Where there are replies to note, that is all or none: when one of them is noted already, or one
    job has moved on, nothing is written.
    """
    if not message_ids:
        return store.apply(decisions)
    with suppress(_Stale), store.transaction() as connection:
        now = clock.now()
        if not store.inbox.take_all(REPLIES, message_ids, now=now, connection=connection):
            raise _Stale
        applied = store.apply(decisions, connection=connection)
        if len(applied) < len(decisions):
            raise _Stale
        return applied
    return ()


def _log_repeated(message_id: str) -> None:
    facts = {"event": "duplicate", "consumer": REPLIES, "message_id": message_id}
    LOGGER.info("message %s was handled before", message_id, extra=facts)


class _Stale(Exception):
    """The job has moved on, so that the note must not stay either."""
