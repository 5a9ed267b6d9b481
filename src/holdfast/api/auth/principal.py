"""Who asks, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.core.values.role import Role

__all__ = ["LOCAL", "Principal", "Role"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who a request comes from: a name for the audit log, a role, and whose rows they see."""

    name: str
    role: Role
    owner: str | None = None
    """The only owner whose rows this principal sees; None for every owner's."""
    walks_in: bool = False
    """Whether it is a visitor without credentials, whom only routes that say so let in."""
    permissions: frozenset[str] = frozenset()
    """What it may do besides what its role allows, by name."""

    def may(self, permission: str) -> bool:
        """Return whether it may do what a permission allows: an operator of all owners may."""
        of_all = self.owner is None and not self.walks_in
        return of_all and (self.role is Role.OPERATOR or permission in self.permissions)

    @property
    def is_end_user(self) -> bool:
        """Whether this principal sees one owner's rows, and is no operator of them."""
        return self.owner is not None and self.role is not Role.OPERATOR


LOCAL: Final = Principal(name="local", role=Role.OPERATOR)
"""Everybody, while the API listens on loopback only and nobody has made a token."""
