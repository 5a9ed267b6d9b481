"""Whether a value under a name that holds secrets is hidden."""

from __future__ import annotations

import re
from typing import Final, assert_never

from holdfast.redaction.patterns import looks
from holdfast.redaction.patterns.key_names import Care

_MIN_LONG: Final = 12
_PATH: Final = re.compile(r"[/~\\.]|[A-Za-z]:[\\/]|\$")
_CODE: Final = re.compile(r"(?=(?:[^0-9]{0,8}[0-9]){3})[A-Z0-9][A-Z0-9 \-]{2,33}")
_COOKIE: Final = re.compile(r"\s{0,8}[^\s=;,\"'()\[\]{}]{1,256}=[^\s;=]")
_PHONE: Final = re.compile(r"\+?(?=(?:[^0-9]{0,4}[0-9]){6})[0-9(][0-9() ./\-]{5,23}")


HIDES_PARTS: Final = frozenset({Care.ALWAYS, Care.UNLESS_PLAIN, Care.UNLESS_PATH, Care.IF_SEVERAL})
"""Where a value of several parts is hidden as a whole."""


def is_hidden(value: str, care: Care, *, in_prose: bool) -> bool:
    """Whether the value is hidden; `in_prose` when it stands in running text without quotes."""
    if looks.is_stand_in(value):
        return False
    match care:
        case Care.ALWAYS:
            return True
        case Care.UNLESS_PLAIN:
            plain = looks.is_plain if in_prose else looks.is_short_number
            return not plain(value)
        case Care.UNLESS_PATH:
            return not _PATH.match(value)
        case Care.IF_RANDOM | Care.IF_SEVERAL:
            return looks.is_random(value)
        case Care.IF_LONG:
            return len(value) >= _MIN_LONG and looks.is_random(value)
        case Care.IF_DIGITS:
            return bool(_CODE.fullmatch(value)) or looks.is_random(value)
        case Care.IF_PHONE:
            return bool(_PHONE.fullmatch(value))
        case Care.AUTHORIZATION:
            return not (in_prose and any(map(looks.is_said_of_secrets, value.split(None, 2)[:2])))
        case Care.COOKIE:
            return bool(_COOKIE.match(value)) or looks.is_random(value)
    assert_never(care)
