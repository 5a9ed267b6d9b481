"""Taking secrets out of what is stored, logged or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from string import digits
from typing import Any, Final

from holdfast.redaction.known import KnownValues
from holdfast.redaction.marker import MARKING_COSTS, Exhausted, Inspection, Kind, bare, shortened
from holdfast.redaction.patterns.contacts import redact_contacts
from holdfast.redaction.patterns.encoded import redact_encoded, redact_readings, without_colours
from holdfast.redaction.patterns.headers import redact_schemes
from holdfast.redaction.patterns.key_names import KeyNames
from holdfast.redaction.patterns.pairs import patterns_of, redact_pairs
from holdfast.redaction.patterns.personal import redact_announced, redact_emails, redact_numbers
from holdfast.redaction.patterns.phrases import redact_phrases
from holdfast.redaction.patterns.tokens import redact_private_keys, redact_tokens
from holdfast.redaction.patterns.urls import redact_addresses
from holdfast.redaction.structure import MAX_NODES, Structure
from holdfast.redaction.surroundings import surroundings

MAX_TEXT_LENGTH: Final = 262_144
"""A longer text is cut, after what is kept of it has been redacted."""

_MARGIN: Final = 8_192
"""Looked at beyond the limit, so that a secret across it is seen whole."""
_ENCODED_LENGTH: Final = 3
"""How many times as long a known secret may get by being encoded."""
_WHOLE: Final = 32_768
"""A text up to this long is looked at as a whole, however little of it is kept."""
_ROUNDS: Final = 4
_MAX_NESTING: Final = 3
"""How many encodings inside each other are looked into."""
_STEPS: Final = 1_280
_CHARACTERS_PER_STEP: Final = 64
_RETRIED_PART: Final = 16
"""Of a text that asks for too much work, the first one of so many parts is tried alone."""
_MAX_NESTED_LENGTH: Final = 16_384
"""How long a text found in an encoded one may be to be searched for encoded ones itself."""
_MAX_QUOTES: Final = 4_000
_SMALL_VALUE: Final = 16_384
"""How many characters of text a value may have and be small."""
_SHORT_TEXT: Final = 2_048
_UUID_LENGTH: Final = 36
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MARK: Final = re.compile(r"[0-9=:@\"'`%\\&<_\-\x1b]")
_LONG_WORD: Final = re.compile(r"[A-Za-z+/]{20}")
_CLOSINGS: Final = {"{": "}", "[": "]", '"': '"'}
_DIGIT: Final = re.compile(r"[0-9]")
_LONG: Final = re.compile(r"[A-Za-z0-9_+/~=\-]{16}")
"""Every token and every encoded secret has so much on end; most words have not."""
_SIGN: Final = re.compile(r"[=:\s\"'`\uff1a<]")
"""Without one of these no word can announce a secret."""
_HALF_A_MARKER: Final = re.compile(r"\[redacted[^\]]{0,40}\Z")


class Redactor:
    """Takes secrets out of texts and values. It never raises, and what it hides, it hides whole.

    `known_values` are hidden wherever they occur, also encoded, except those too short or too plain
    to be recognised (`is_maskable`). `extra_keys` are names whose values are secret,
    besides the built-in ones. With `personal` e-mail addresses and one-time codes are hidden, too,
    and they and phones can be recognised. `hash_key` keys the digests by which
    equal secrets can be recognised.
    What is redacted already stays as it is.
    """

    __slots__ = (
        "_emails",
        "_hash_key",
        "_known",
        "_margin",
        "_names",
        "_patterns",
        "_personal",
        "_phones",
    )

    def __init__(
        self,
        *,
        known_values: Iterable[str] | KnownValues = (),
        extra_keys: Iterable[str] = (),
        mask_email: bool = False,
        mask_phone: bool = True,
        personal: bool = False,
        hash_key: bytes = b"",
    ) -> None:
        extra = tuple(extra_keys)
        self._known: Final = (
            known_values if isinstance(known_values, KnownValues) else KnownValues(known_values)
        )
        self._margin: Final = max(_MARGIN, _ENCODED_LENGTH * self._known.longest)
        self._names: Final = KeyNames(extra, phones=mask_phone)
        self._patterns: Final = patterns_of(extra)
        self._emails: Final = mask_email
        self._phones: Final = mask_phone
        self._personal: Final = personal
        self._hash_key: Final = shortened(hash_key)

    def text(self, text: str, *, limit: int = MAX_TEXT_LENGTH) -> str:
        """Return the text without its secrets, cut to `limit` characters after they are gone.

        Of a text that would take too long only the beginning is shown, or nothing.
        """
        try:
            text = str.__str__(text)
            limit = min(limit, MAX_TEXT_LENGTH)
            try:
                return self._bounded(text, self._inspection(), nesting=0, limit=limit)
            except Exhausted:
                return self._beginning(text, limit)
        except Exhausted:
            return bare(Kind.TOO_MUCH)
        except Exception:  # noqa: BLE001 - whatever went wrong, the text may not be shown
            return bare(Kind.UNREADABLE)

    def may_know(self, zeroed: str) -> bool:
        """Return whether a known value may stand in a text of this shape, all its digits zeros."""
        return self._known.may_occur_in(zeroed)

    def value(self, value: object, *, text: Callable[[str], str] | None = None) -> Any:  # noqa: ANN401 - of the shape of what came in
        """Return the value without its secrets: mappings, sequences and texts as they were, new.

        Numbers, instants and None stay; any other object becomes its redacted text. `text` may
        stand in for this redactor's own, for the short texts of a small value: one that remembers.
        """
        inspection = self._inspection()
        if text is None:
            return self._value(value, inspection, nesting=0)
        room = _SMALL_VALUE

        def redact(inner: str) -> str:
            nonlocal room
            room -= len(inner)
            if room < 0 or len(inner) > _SHORT_TEXT:
                return self._inner(inner, inspection, nesting=0)
            return text(inner)

        return self._walked(value, redact)

    def _inspection(self) -> Inspection:
        return self._inspection_of(_STEPS)

    def _inspection_of(self, steps: int) -> Inspection:
        return Inspection(hash_key=self._hash_key, steps=steps, tells_people=self._personal)

    def _value(self, value: object, inspection: Inspection, *, nesting: int) -> Any:  # noqa: ANN401 - as above
        return self._walked(value, lambda text: self._inner(text, inspection, nesting=nesting))

    def _inner(self, text: str, inspection: Inspection, *, nesting: int) -> str:
        try:
            return self._bounded(text, inspection, nesting=nesting)
        except Exhausted:
            return bare(Kind.TOO_MUCH)

    def _walked(self, value: object, text: Callable[[str], str]) -> Any:  # noqa: ANN401 - as above
        # Hiding by names takes no searching, so it is not what a walk is too much for.
        walk = self._inspection_of(MARKING_COSTS * MAX_NODES)
        return Structure(text=text, names=self._names, inspection=walk).redact(value)

    def _beginning(self, text: str, limit: int) -> str:
        length, margin = min(len(text), MAX_TEXT_LENGTH) // _RETRIED_PART, self._margin
        shown = self._redacted(text[: length + margin], self._inspection(), nesting=0)
        return _cut(shown, min(length, limit, len(shown) - margin), len(text))

    def _bounded(
        self,
        text: str,
        inspection: Inspection,
        *,
        nesting: int,
        limit: int = MAX_TEXT_LENGTH,
    ) -> str:
        if len(text) == _UUID_LENGTH and _UUID.fullmatch(text):
            # The most frequent of all texts in logs, and secret only if it is known to be.
            return self._known.redact(text, inspection)
        looked_at = max(limit + self._margin, _WHOLE)
        window = text[:looked_at]
        if not self._known.values and not _is_interesting(window):
            return text if len(text) <= limit else _cut(window, limit, len(text))
        if len(text) <= looked_at:
            redacted = self._settled(text, inspection, nesting=nesting)
            return redacted if len(redacted) <= limit else _cut(redacted, limit, len(text))
        window = self._redacted(window, inspection, nesting=nesting)
        return _cut(window, min(limit, len(window) - self._margin), len(text))

    def _settled(self, text: str, inspection: Inspection, *, nesting: int) -> str:
        """The text, redacted until nothing changes: one marker may bring out what is beside it.

        Of a long text only the surroundings of what has changed are looked at again.
        """
        redacted = self._redacted(text, inspection, nesting=nesting)
        rounds = _ROUNDS
        while redacted != text and rounds:
            rounds -= 1
            start, end = surroundings(text, redacted)
            again = self._redacted(redacted[start:end], inspection, nesting=nesting)
            text, redacted = redacted, redacted[:start] + again + redacted[end:]
        return redacted

    def _redacted(self, text: str, inspection: Inspection, *, nesting: int) -> str:
        inspection.allow(len(text) // _CHARACTERS_PER_STEP)
        if nesting < _MAX_NESTING and _may_nest(text):
            document = self._document(text, inspection, nesting=nesting)
            if document is not None:
                return document

        def redact(inner: str) -> str:
            if nesting < _MAX_NESTING:
                return self._redacted(inner, inspection, nesting=nesting + 1)
            return self._by_rules(inner, inspection, nesting=nesting + 1)

        shown = without_colours(text)
        redacted = self._by_rules(shown, inspection, nesting=nesting)
        if redacted == shown != text:
            redacted = self._by_rules(text, inspection, nesting=nesting)
        return redact_readings(redacted, inspection, redact=redact)

    def _document(self, text: str, inspection: Inspection, *, nesting: int) -> str | None:
        """The text of a JSON document without its secrets; None when it is no such document."""
        try:
            parsed = json.loads(text, object_pairs_hook=_unambiguous)
        except (ValueError, RecursionError):
            return None
        redacted = self._value(parsed, inspection, nesting=nesting + 1)
        if redacted == parsed:
            return text
        compact = None if '": ' in text or '", ' in text else (",", ":")
        return json.dumps(
            redacted,
            ensure_ascii=False,
            indent=2 if "\n" in text else None,
            separators=compact,
        )

    def _by_rules(self, text: str, inspection: Inspection, *, nesting: int) -> str:
        text = self._known.redact(text, inspection)
        if nesting and not _is_worth_reading(text):
            return text
        if "-----BEGIN" in text:
            text = redact_private_keys(text, inspection)
        if "-p" in text or _SIGN.search(text):
            text = self._by_words(text, lowered(text), inspection)
        if _LONG.search(text):
            text = redact_tokens(text, inspection)
            if not nesting or (nesting < _MAX_NESTING and len(text) <= _MAX_NESTED_LENGTH):

                def redact(inner: str) -> str:
                    return self._by_rules(inner, inspection, nesting=nesting + 1)

                text = redact_encoded(text, inspection, redact=redact)
        if _has_digit(text):
            text = redact_numbers(text, inspection, phones=self._phones)
        if self._personal:
            text = redact_contacts(text, lowered(text), inspection)
        elif self._emails and "@" in text:
            text = redact_emails(text)
        return text

    def _by_words(self, text: str, lower: str, inspection: Inspection) -> str:
        """Return the text without what a word, a name or an address before it gives away."""
        shown = redact_pairs(text, lower, inspection, names=self._names, patterns=self._patterns)
        if ":" in shown and "@" in shown:
            shown = redact_addresses(shown, inspection)
        text, lower = _with_lower(shown, text, lower)
        text, lower = _with_lower(redact_schemes(text, lower, inspection), text, lower)
        shown = redact_phrases(text, inspection, names=self._names)
        text, lower = _with_lower(shown, text, lower)
        if _has_digit(text) or "bic" in lower or "swift" in lower:
            text = redact_announced(text, lower, inspection, phones=self._phones)
        return text


def _has_digit(text: str) -> bool:
    """Return whether there is a digit; in a long text each is found far faster than any of them."""
    if len(text) <= _SHORT_TEXT:
        return _DIGIT.search(text) is not None
    return any(digit in text for digit in digits)


def _is_interesting(text: str) -> bool:
    """Return whether the text has what every secret has, besides one that is known."""
    return bool(_MARK.search(text) or not text.isascii() or _LONG_WORD.search(text))


def _is_worth_reading(text: str) -> bool:
    """Return whether what was encoded may hold a secret: long data without a sign is no text."""
    if len(text) > _MAX_NESTED_LENGTH and not _SIGN.search(text):
        return False
    return _is_interesting(text)


def _may_nest(text: str) -> bool:
    """Return whether the text may be a JSON document that is better read by its structure.

    One without escapes holds no other document and reads like any text; one of very many strings
    would take too long.
    """
    if not text or _CLOSINGS.get(text[0]) != text[-1]:
        return False
    return "\\" in text and text.count('"') <= _MAX_QUOTES


def lowered(text: str) -> str:
    """Return the text in lower case, character for character."""
    # The only letter that becomes two.
    return text.replace("\u0130", "I").lower()


def _with_lower(shown: str, text: str, lower: str) -> tuple[str, str]:
    """Return the text shown and it in lower case; nothing is done again for a text that stayed."""
    return (text, lower) if shown == text else (shown, lowered(shown))


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of the pairs; an object that has a name twice cannot be shown as one."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError
    return mapping


def _cut(text: str, length: int, whole_length: int) -> str:
    marker = f"… [cut, {whole_length} characters]"
    kept = text[: max(0, length - len(marker))]
    half = _HALF_A_MARKER.search(kept, max(0, len(kept) - 64))
    if half is not None:
        kept = kept[: half.start()]
    return kept + marker
