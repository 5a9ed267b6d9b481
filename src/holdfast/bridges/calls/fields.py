"""How the fields of a message document are checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from holdfast.errors import InvalidValue
from holdfast.redaction.printable import text_of, visible

MAX_TOKEN_LENGTH: Final = 256

_SHOWN_LENGTH: Final = 60
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSENDABLE: Final = re.compile("[\x00\ud800-\udfff]")


def invalid(field: str, value: object, limit: str) -> InvalidValue:
    """Return the error that names a field of a message."""
    return InvalidValue("message", field=field, value=value, limit=limit)


def check_names(message: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse what is no document, and fields that would be left out silently."""
    if not isinstance(message, Mapping):
        raise invalid("message", type(message).__name__, "a JSON object")
    for name in message:
        if name not in allowed:
            raise invalid(shown(name), "given", f"left out; known are {', '.join(allowed)}")


def text(message: Mapping[str, Any], field: str, *, at_most: int, of: str | None = None) -> str:
    """A required line of text: nothing in it can begin another line, or another header.

    `of` is how an error names the field.
    """
    value = message.get(field)
    limit = f"a line of 1 to {at_most} characters, without control characters"
    if not isinstance(value, str) or not value.strip() or len(value) > at_most:
        raise invalid(of or field, value, limit)
    if _CONTROL.search(value):
        raise invalid(of or field, value, limit)
    return value


def body(message: Mapping[str, Any], field: str) -> str | None:
    """An optional text of several lines."""
    value = message.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or _UNSENDABLE.search(value):
        raise invalid(field, value, "text without NUL and lone surrogates, or left out")
    return value


def pairs(message: Mapping[str, Any], field: str, *, at_most: int) -> dict[str, str]:
    """An optional object of lines of text by name."""
    value = message.get(field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise invalid(field, value, "an object of texts by name, or left out")
    for name, said in value.items():
        if not isinstance(name, str) or not name or _CONTROL.search(name):
            raise invalid(field, name, "an object whose names are lines of text")
        if said != "":
            text({field: said}, field, at_most=at_most, of=f"{field}.{shown(name)}")
    return dict(value)


def shown(name: object) -> str:
    """A name that a message brought, short and on one line."""
    return visible(text_of(name))[:_SHOWN_LENGTH]


def token(value: object) -> str:
    """Return the token as it may stand in a header."""
    if not isinstance(value, str) or not _TOKEN.fullmatch(value) or len(value) > MAX_TOKEN_LENGTH:
        limit = f"1 to {MAX_TOKEN_LENGTH} printable ASCII characters, without blanks"
        raise InvalidValue("send", field="token", value=value, limit=limit)
    return value
