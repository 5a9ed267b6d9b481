"""What this process keeps secret, and the one way in which it takes secrets out.

Failures, logs and what people are shown of dead letters hide personal data as well: e-mail
addresses, phones and one-time codes, each behind a mark that is the same for the same one. Where a
pipeline says that it needs them, its failures keep them.

Secrets belong to a process, as its logs do: whichever application brought one, it is hidden from
everything that is stored, logged or shown here. What was secret once stays so, because an old
password may turn up long after it was changed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, NamedTuple

from holdfast.core.values.failure import clean_text
from holdfast.errors import InvalidValue
from holdfast.redaction import MAX_TEXT_LENGTH, Redactor, is_maskable, secrets_in_environment
from holdfast.redaction.known import KnownValues
from holdfast.redaction.likeness import shape_of, text_of, with_other_numbers
from holdfast.redaction.marker import Kind, bare

MAX_VALUES: Final = 1_000
"""How many known values are kept; the ones named longest ago are forgotten first."""

_REMEMBERED_TEXTS: Final = 1_024
_MAX_REMEMBERED_LENGTH: Final = 4_096
_UNREADABLE: Final = bare(Kind.UNREADABLE)
_HIDDEN: Final = bare(Kind.SECRET)
_KEEPS_PERSONAL_DATA: Final = ContextVar("keeps_personal_data", default=False)


class _Current(NamedTuple):
    """A redactor, and it again with a memory: what fails, fails in the same words over and over.

    Texts that differ in a few small numbers only, such as those of jobs, are one text to it.
    """

    redactor: Redactor
    remember: Callable[[str], str]
    remember_safe: Callable[[str, int], str]
    stays: Callable[[bytes, int], bool]
    """Whether all texts of this shape are shown as they are."""

    @classmethod
    def of(cls, redactor: Redactor) -> _Current:
        def safe(text: str, limit: int) -> str:
            return clean_text(redactor.text(text, limit=limit), limit)

        def stays(shape: bytes, limit: int) -> bool:
            zeroed = text_of(shape)
            alike = with_other_numbers(zeroed)
            return (
                alike is not None
                and remember_safe(alike, limit) == alike
                and not redactor.may_know(zeroed)
            )

        remembering = lru_cache(_REMEMBERED_TEXTS)
        remember_safe = remembering(safe)
        return cls(redactor, remembering(redactor.text), remember_safe, remembering(stays))


class Secrecy:
    """The secrets of a process. It may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, None] = {}
        self._names: frozenset[str] = frozenset()
        self.state = _Current.of(Redactor())
        """What is secret now: another object after every change of it."""
        self._private = _Current.of(Redactor(personal=True))
        """The same, and what is personal."""
        self._kept = _Current.of(Redactor(mask_phone=False))
        """For those who keep what is personal, phones as well."""

    @property
    def values(self) -> tuple[str, ...]:
        """The known values, the one named longest ago first."""
        return tuple(self._values)

    @property
    def names(self) -> tuple[str, ...]:
        """The names whose values are secret, besides those that always are."""
        return tuple(sorted(self._names))

    def keep(self, values: Iterable[str], *, names: Iterable[str] = ()) -> int:
        """Hide these values from now on, and what stands under these names.

        Returns how many of the values are too short or too plain to be recognised;
        those are hidden only where a name or a shape gives them away. What is no text is refused,
        and not shown.
        """
        given, more_names = _checked("values", values), _checked("names", names)
        kept = [value for value in given if is_maskable(value)]
        with self._lock:
            known = {value: None for value in self._values if value not in kept}
            known |= dict.fromkeys(kept)
            latest = dict.fromkeys(list(known)[-MAX_VALUES:])
            self._know(latest, self._names.union(more_names))
        return len(given) - len(kept)

    def keep_only(self, values: Iterable[str], *, names: Iterable[str]) -> None:
        """Hide these and forget all others: for tests, each of which has secrets of its own."""
        with self._lock:
            self._know(dict.fromkeys(values), frozenset(names))

    def _know(self, values: dict[str, None], names: frozenset[str]) -> None:
        """Make the redactors anew if anything is different; the caller has the lock."""
        if values.keys() != self._values.keys() or names != self._names:
            keys, known = sorted(names), KnownValues(values)
            self._private = _Current.of(
                Redactor(known_values=known, extra_keys=keys, personal=True)
            )
            self._kept = _Current.of(
                Redactor(known_values=known, extra_keys=keys, mask_phone=False)
            )
            # Last: what others remember under it was made with the two above.
            self.state = _Current.of(Redactor(known_values=known, extra_keys=keys))
        self._values, self._names = values, names

    def keep_document(self, value: str) -> bool:
        """Hide a value, and where it is a JSON object what is secret in that by its name.

        Returns whether the value itself can be distinguished from ordinary words, and so be hidden.
        """
        inside = [
            text for pair in _texts_in(value) for text in secrets_in_environment(dict([pair]))
        ]
        self.keep((*inside, value))
        return is_maskable(value)

    def text(self, text: str, *, limit: int = MAX_TEXT_LENGTH) -> str:
        """The text without its secrets; of a long one not much more than `limit` characters."""
        return _text(self.state, text, limit)

    def private_text(self, text: str, *, limit: int = MAX_TEXT_LENGTH) -> str:
        """As `text`, and without what is personal."""
        return _text(self._private, text, limit)

    def safe_text(self, text: str, limit: int) -> str:
        """What a failure says, safe to store and cut after its secrets are out: half is one, too.

        Personal data is out, too, unless the pipeline keeps it (`keeping_personal_data`).
        """
        try:
            plain = str.__str__(text)
        except TypeError:
            return _UNREADABLE
        current = self._kept if _KEEPS_PERSONAL_DATA.get() else self._private
        if len(plain) > _MAX_REMEMBERED_LENGTH:
            return clean_text(current.redactor.text(plain, limit=limit), limit)
        if current.stays(shape_of(plain), limit):
            return plain
        return current.remember_safe(plain, limit)

    def safe_name(self, name: str, limit: int) -> str:
        """As `safe_text`, for names: there are few of them, and none is like another."""
        if len(name) > _MAX_REMEMBERED_LENGTH:
            return self.safe_text(name, limit)
        return self.state.remember_safe(name, limit)

    def value(self, value: object) -> Any:  # noqa: ANN401 - of the shape of what came in
        """Return the value without its secrets: names first, then the texts inside."""
        current = self.state
        return current.redactor.value(value, text=current.remember)

    def private_value(self, value: object) -> Any:  # noqa: ANN401 - of the shape of what came in
        """As `value`, and without what is personal."""
        current = self._private
        return current.redactor.value(value, text=current.remember)

    def kept_value(self, value: object) -> Any:  # noqa: ANN401 - of the shape of what came in
        """Return the value without its secrets and with all that is personal."""
        current = self._kept
        return current.redactor.value(value, text=current.remember)


@contextmanager
def keeping_personal_data(keeps: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 - what it says
    """Leave personal data in what failures say, inside the block, where `keeps` is true."""
    before = _KEEPS_PERSONAL_DATA.set(keeps)
    try:
        yield
    finally:
        _KEEPS_PERSONAL_DATA.reset(before)


def without_names(value: Any, names: Collection[str]) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return JSON without what stands under these names; what is empty says nothing and stays."""
    if not names:
        return value
    if isinstance(value, Mapping):
        return {
            name: _HIDDEN if name in names and each else without_names(each, names)
            for name, each in value.items()
        }
    return [without_names(each, names) for each in value] if isinstance(value, list) else value


def _text(current: _Current, text: str, limit: int) -> str:
    try:
        plain = str.__str__(text)
    except TypeError:
        return _UNREADABLE
    if len(plain) <= _MAX_REMEMBERED_LENGTH:
        return current.remember(plain)
    return current.redactor.text(plain, limit=limit)


def _texts_in(value: str) -> Iterator[tuple[str, str]]:
    """Yield the named texts of a value that is a JSON object, such as a key of a service."""
    if not value.lstrip().startswith("{"):
        return
    try:
        within: list[object] = [json.loads(value)]
    except (ValueError, RecursionError):
        return
    while within:
        found = within.pop()
        if isinstance(found, dict):
            within.extend(found.values())
            yield from ((name, text) for name, text in found.items() if isinstance(text, str))


def _checked(field: str, texts: Iterable[object]) -> list[str]:
    given = list(texts)
    found = [text for text in given if isinstance(text, str)]
    if isinstance(texts, str | bytes) or len(found) < len(given):
        kinds = {type(text).__name__ for text in given}
        told = type(texts).__name__ + (f" of {', '.join(sorted(kinds))}" if kinds else "")
        raise InvalidValue("secrets", field=field, value=told, limit="a list of texts")
    return found


OF_THIS_PROCESS: Final = Secrecy()

keep_secret: Final = OF_THIS_PROCESS.keep
keep_secret_document: Final = OF_THIS_PROCESS.keep_document
redacted: Final = OF_THIS_PROCESS.text
redacted_value: Final = OF_THIS_PROCESS.value
private: Final = OF_THIS_PROCESS.private_text
private_value: Final = OF_THIS_PROCESS.private_value
kept_value: Final = OF_THIS_PROCESS.kept_value
safe_text: Final = OF_THIS_PROCESS.safe_text
safe_name: Final = OF_THIS_PROCESS.safe_name
