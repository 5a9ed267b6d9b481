"""`/api/attention`: what needs a person."""

from __future__ import annotations

from typing import Final

from holdfast.api.access import ReaderOfAll, guarded_router
from holdfast.api.models.attention import AttentionEntry, AttentionList
from holdfast.api.serving import Engine

ROUTER: Final = guarded_router("attention")


@ROUTER.get("")
def list_attention(_who: ReaderOfAll, engine: Engine) -> AttentionList:
    """List everything that needs a person, the most urgent first; empty when all is well."""
    found = engine.needs.read()
    return AttentionList(items=[AttentionEntry.of(entry) for entry in found])
