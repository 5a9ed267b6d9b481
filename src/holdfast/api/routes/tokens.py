"""`/api/tokens`: who may use this API, and as what."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path

from holdfast.api.access import OperatorOfAll, guarded_router
from holdfast.api.models.tokens import MadeToken, NewToken, Token, Tokens
from holdfast.api.models.values.acting import NO_REASON, Reasoned
from holdfast.api.models.values.texts import Plain
from holdfast.api.serving import Engine

ROUTER: Final = guarded_router("tokens")

TokenId = Annotated[Plain, Path(description="The id of the token, which is not the token.")]


@ROUTER.get("", response_model=Tokens)
def list_tokens(_who: OperatorOfAll, engine: Engine) -> dict[str, object]:
    """List every token, the newest first, those that were revoked included."""
    return {"items": [view.to_document() for view in engine.tokens.list()]}


@ROUTER.post("", status_code=201, response_model=MadeToken)
def create_token(asked: NewToken, who: OperatorOfAll, engine: Engine) -> dict[str, object]:
    """Make a token. This answer holds it, and no other ever will."""
    view, secret = engine.tokens.create(
        asked.name,
        role=asked.role,
        owner=asked.owner,
        permissions=asked.permissions,
        by=who.name,
    )
    return {**view.to_document(), "token": secret}


@ROUTER.post("/{token_id}/revoke", response_model=Token)
def revoke_token(
    token_id: TokenId, who: OperatorOfAll, engine: Engine, said: Reasoned = NO_REASON
) -> dict[str, object]:
    """Let nobody in by a token from now on; sessions that it opened end with it."""
    return engine.tokens.revoke(token_id, by=who.name, reason=said.reason).to_document()
