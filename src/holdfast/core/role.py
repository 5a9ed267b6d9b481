"""What a caller from outside may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What somebody may do; each role may do all that the ones before it may."""

    READER = "reader"
    """Look at what is there."""
    SUBMITTER = "submitter"
    """Submit jobs as well."""
    OPERATOR = "operator"
    """Do everything: cancel, retry, replay, resolve, pause, drain."""

    def may(self, needed: Role) -> bool:
        """Tell whether this role is enough where `needed` is asked for."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER: Final = (Role.READER, Role.SUBMITTER, Role.OPERATOR)
