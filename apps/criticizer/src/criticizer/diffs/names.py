"""The names of files as diffs write them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_NAME_LENGTH: Final = 1_000
_NOWHERE: Final = "/dev/null"
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPED: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_PREFIXES: Final = frozenset("abciow")
_PREFIX_LENGTH: Final = 2


class Names(NamedTuple):
    """What a file was and is called; None where there was or is none."""

    old: str | None
    new: str | None


def name_in(text: str) -> str | None:
    """Return the name after `---`, `+++`, `rename from` and the like; None for no file at all."""
    if text.startswith('"'):
        found = _QUOTED.match(text)
        if found is not None:
            return _unquoted(found[1])
    # A tab ends a name: after it comes nothing, or a time.
    name = text.partition("\t")[0]
    return None if name == _NOWHERE else name


def without_prefixes(old: str | None, new: str | None) -> Names:
    """Return both names without the letters that Git puts before them, if it did."""
    given = [name for name in (old, new) if name is not None]
    if given and all(_has_prefix(name) for name in given):
        old, new = (name and name[_PREFIX_LENGTH:] for name in (old, new))
    return Names(shown(old), shown(new))


def names_in_title(text: str) -> Names:
    """Return the names in what follows `diff --git`, which is written to be read by people.

    Names with blanks are not distinguished by anything but being the same twice.
    """
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return without_prefixes(_unquoted(quoted[1]), name_in(text[quoted.end() :].lstrip()))
    if text.endswith('"') and ' "' in text:
        first, _, second = text.partition(' "')
        return without_prefixes(first, name_in(f'"{second}'))
    middle = len(text) // 2
    if len(text) % 2 and text[middle] == " ":
        names = without_prefixes(text[:middle], text[middle + 1 :])
        if names.old == names.new:
            return names
    first, _, second = text.partition(" ")
    return without_prefixes(first, second or first)


def shown(name: str | None) -> str | None:
    """Return a name that can be shown on one line, whatever it holds."""
    if name is None:
        return None
    name = name[:MAX_NAME_LENGTH]
    if name.isprintable():
        return name
    return "".join(letter if letter.isprintable() else _REPLACEMENT for letter in name)


def _has_prefix(name: str) -> bool:
    return len(name) > _PREFIX_LENGTH and name[1] == "/" and name[0] in _PREFIXES


def _unquoted(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    return _ESCAPE.sub(_unescaped, raw).decode("utf-8", "replace")


def _unescaped(found: re.Match[bytes]) -> bytes:
    said = found[1]
    if len(said) == 1:
        return _ESCAPED.get(said, said)
    return bytes([int(said, 8)])
