"""What a caller from outside may do."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from holdfast.errors import InvalidValue

MAX_PERMISSION_LENGTH: Final = 64
_PERMISSION: Final = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")


class Role(StrEnum):
    """What a bearer may do; each role may do all that the ones before it may."""

    READER = "reader"
    """Look at what is there."""
    SUBMITTER = "submitter"
    """Submit jobs as well."""
    OPERATOR = "operator"
    """Do everything: cancel, retry, replay, resolve, pause, drain."""

    def may(self, needed: Role) -> bool:
        """Return whether this role is enough where `needed` is asked for."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER: Final = (Role.READER, Role.SUBMITTER, Role.OPERATOR)


def checked_permission(name: object) -> str:
    """Return the name of a permission, or raise `InvalidValue`."""
    if (
        not isinstance(name, str)
        or len(name) > MAX_PERMISSION_LENGTH
        or not _PERMISSION.fullmatch(name)
    ):
        limit = "a system and what it allows, such as shop.refund, in small letters"
        raise InvalidValue("permission", field="name", value=name, limit=limit)
    return name
