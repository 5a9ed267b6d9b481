"""People without credentials: each is an owner of their own, by a cookie that only we can make.

They see what is theirs and nothing else, and only through the routes that let them in.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from starlette.responses import Response

from holdfast.api.auth.principal import Principal
from holdfast.api.auth.session import Sessions
from holdfast.core.values.role import Role
from holdfast.runtime.kernel.clock import Chance

COOKIE: Final = "holdfast_walk_in"
LASTING_S: Final = 90 * 24 * 3600
_PURPOSE: Final = "walk-in"
_ID: Final = re.compile(r"[0-9a-f]{32}")
_OWNER: Final = "walk-in-"


class AnonymousSessions:
    """Gives cookies out and knows them again."""

    def __init__(self, sessions: Sessions, chance: Chance) -> None:
        self._sessions = sessions
        self._chance = chance

    def new(self) -> tuple[Principal, str]:
        """Return a visitor who has no cookie yet, and the one they get."""
        number = f"{self._chance.bits(64):016x}{self._chance.bits(64):016x}"
        return _somebody(number), f"{number}.{self._sessions.sign(_PURPOSE, number)}"

    def read(self, cookie: str) -> Principal | None:
        """Return whose cookie it is, or None when it was not made here."""
        number, _, given = cookie.partition(".")
        if not _ID.fullmatch(number) or not given.isascii():
            return None
        if not hmac.compare_digest(given, self._sessions.sign(_PURPOSE, number)):
            return None
        return _somebody(number)


def _somebody(number: str) -> Principal:
    name = f"{_OWNER}{number}"
    return Principal(name=name, role=Role.SUBMITTER, owner=name, walks_in=True)


def is_walk_in(owner: str) -> bool:
    """Return whether an owner is one that was known by a cookie."""
    return owner.startswith(_OWNER) and _ID.fullmatch(owner.removeprefix(_OWNER)) is not None


def set_cookie(response: Response, cookie: str, *, path: str, https: bool) -> None:
    """Have the browser keep who it is, away from scripts and from other sites."""
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=LASTING_S,
        path=path or "/",
        secure=https,
        httponly=True,
        samesite="strict",
    )
