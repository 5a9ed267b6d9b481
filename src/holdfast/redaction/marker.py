"""What stands where a secret stood, and how much work one redaction may cost."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What was taken out, or why nothing could be shown."""

    KNOWN = "known"
    PASSWORD = "password"  # noqa: S105 - the word for it
    SECRET = "secret"  # noqa: S105 - the word for it
    TOKEN = "token"  # noqa: S105 - the word for it
    KEY = "key"
    AUTHORIZATION = "authorization"
    COOKIE = "cookie"
    CREDENTIALS = "credentials"
    PRIVATE_KEY = "private-key"
    ENCODED = "encoded"
    CARD = "card"
    PHONE = "phone"
    EMAIL = "email"
    IDENTITY = "identity"
    CODE = "code"
    """A one-time code."""
    UNREADABLE = "unreadable"
    """It raised when it was looked at."""
    BINARY = "binary"
    """It is not text, so nobody can say what it holds."""
    TOO_DEEP = "too-deep"
    TOO_MUCH = "too-much"
    """Looking through it would have taken too long."""
    CYCLE = "cycle"


MARKER: Final = re.compile(
    rf"\[redacted:(?:{'|'.join(re.escape(kind) for kind in Kind)})(?::[0-9a-f]{{4}})?\]"
    r"|\[(?:email|phone|code):[0-9a-f]{4}\]"
)
OPENING: Final = "[redacted:"
_SHORT_OPENING: Final = re.compile(r"\[(?:email|phone|code):")
_LONGEST: Final = 48

_PERSONAL: Final = frozenset({Kind.CARD, Kind.PHONE, Kind.EMAIL, Kind.IDENTITY, Kind.CODE})
_TOLD_APART: Final = frozenset({Kind.PHONE, Kind.EMAIL, Kind.CODE})
"""What is found in many texts, and of which people ask whether it is the same in two of them."""
_PLAIN_KEY: Final = b"holdfast"
_NO_DIGIT: Final = re.compile(r"[^0-9]++")
_DIGEST_BYTES: Final = 2
_LONG_ENOUGH_TO_HASH: Final = 16
_MAX_KEY_BYTES: Final = 32
_SCANNED_PER_STEP: Final = 6
MARKING_COSTS: Final = 2
"""How many steps more it costs to hide something than to look at it."""


class Exhausted(Exception):
    """The text asks for more work than it is worth; nothing of it may be shown."""


class Inspection:
    """One redaction under way: how it writes its markers, and how much it may still do.

    Every candidate that is looked at in Python costs a step; scanning by a compiled pattern is
    linear and costs none.
    """

    __slots__ = ("_hash_key", "_steps_left", "_tells_people")

    def __init__(self, *, hash_key: bytes, steps: int, tells_people: bool = False) -> None:
        self._hash_key = hash_key
        self._tells_people = tells_people
        self._steps_left = steps

    def step(self, count: int = 1) -> None:
        """Pay for one more candidate; raises Exhausted when none can be afforded."""
        self._steps_left -= count
        if self._steps_left < 0:
            raise Exhausted

    def allow(self, count: int) -> None:
        """Afford so many steps more."""
        self._steps_left += count

    def scan(self, length: int) -> None:
        """Pay for characters that were read and may have to be read again."""
        self.step(length >> _SCANNED_PER_STEP)

    def mark(self, kind: Kind, secret: str) -> str:
        """Return the marker of a secret: equal secrets have equal markers.

        Sixteen bits of a digest let a person see that two markers hide the same thing. They would
        also help to guess what is short or has few possible values, so such a secret has them only
        under a key; of addresses, phones and codes people need to see it, and sixteen bits tell
        little of them.
        """
        self.step(MARKING_COSTS)
        if kind is Kind.PHONE:
            # However it is written.
            secret = _NO_DIGIT.sub("", secret)
        key = self._hash_key
        if self._tells_people and kind in _TOLD_APART:
            key = key or _PLAIN_KEY
        guessable = kind in _PERSONAL or len(secret) < _LONG_ENOUGH_TO_HASH
        if guessable and not key:
            return f"{OPENING}{kind}]"
        digest = hashlib.blake2s(
            secret.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=key
        )
        told_apart = self._tells_people and kind in _TOLD_APART
        opening = "[" if told_apart else OPENING
        return f"{opening}{kind}:{digest.hexdigest()}]"


def bare(kind: Kind) -> str:
    """The marker of what cannot be, or need not be, distinguished from others of its kind."""
    return f"{OPENING}{kind}]"


def shortened(key: bytes) -> bytes:
    """A key of a length that the digest takes; equal keys stay equal."""
    return key if len(key) <= _MAX_KEY_BYTES else hashlib.blake2s(key).digest()


def has_markers(text: str) -> bool:
    """Return whether something was redacted in the text before."""
    return OPENING in text or bool("[" in text and _SHORT_OPENING.search(text))


def marker_around(text: str, position: int) -> re.Match[str] | None:
    """Return the marker in which `position` lies, if any."""
    start = text.rfind("[", max(0, position - _LONGEST), position + 1)
    found = MARKER.match(text, start) if start >= 0 else None
    return found if found and found.end() > position else None
