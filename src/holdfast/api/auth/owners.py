"""Whose rows a request is about."""

from __future__ import annotations

from holdfast.api.auth.principal import Principal
from holdfast.api.problems import Problem


def owner_for(who: Principal, asked: str | None) -> str | None:
    """Return the owner a request is about: the principal's own, or any that one of all asks for.

    Raises a problem when a visitor names an owner that is not theirs; None is every owner.
    """
    if who.owner is None:
        return asked
    if asked is not None and asked != who.owner:
        raise Problem("owner_refused", "name your own owner, or none; your token is for one owner")
    return who.owner
