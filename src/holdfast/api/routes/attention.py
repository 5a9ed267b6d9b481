"""`/api/attention`: what needs a person."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from holdfast.api.access import ReaderOfAll, guarded_router
from holdfast.api.models.attention import AttentionEntry, AttentionList
from holdfast.api.serving import Engine, serving_of

ROUTER: Final = guarded_router("attention")


@ROUTER.get("")
def list_attention(_who: ReaderOfAll, engine: Engine, request: Request) -> AttentionList:
    """List everything that needs a person, the most urgent first; empty when all is well."""
    found = engine.needs.read(queues=serving_of(request).queues.read())
    return AttentionList(items=[AttentionEntry.of(entry) for entry in found])
