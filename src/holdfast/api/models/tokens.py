"""API tokens as the API takes and tells them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from holdfast.api.models.values.acting import Request
from holdfast.api.models.values.moment import Moment
from holdfast.api.models.values.texts import Plain
from holdfast.core.values.role import Role
from holdfast.engine.tokens import MAX_PERMISSIONS


class NewToken(Request):
    """Whom a token is for, and what it lets them do."""

    name: Plain
    """Who bears it, as the audit log will say."""
    role: Role = Field(strict=False)
    owner: Plain | None = None
    """Whose rows its bearer sees and acts on; null for every owner's."""
    permissions: list[Plain] = Field(default=[], max_length=MAX_PERMISSIONS)
    """What its bearer may do besides, by names that systems give, such as `shop.refund`."""


class Token(BaseModel):
    """What is known of a token: everything but the token itself."""

    id: str
    name: str
    role: Role
    owner: str | None
    permissions: list[str]
    created_at: Moment
    created_by: str
    revoked_at: Moment | None


class MadeToken(Token):
    """A new token. This is the only answer that holds it: the store keeps its hash."""

    token: str


class Tokens(BaseModel):
    """Every token, the newest first, those that were revoked included."""

    items: list[Token]
