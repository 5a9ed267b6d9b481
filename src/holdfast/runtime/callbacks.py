"""The key that signs the tokens of callbacks, shared by all programs on a database."""

from __future__ import annotations

import threading
from typing import Final

from holdfast.core.callback import Claim, read
from holdfast.runtime.clock import Chance, Clock
from holdfast.secrecy import keep_secret
from holdfast.store.contract import Store

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
