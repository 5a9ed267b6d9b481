"""`/api/dead-letters`: what failed for good, and what people do about it."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import Operator, Reader, guarded_router, shown_to
from holdfast.api.auth.owners import owner_for
from holdfast.api.models.dead_letters import (
    DeadLetter,
    DeadLetterGroup,
    DeadLetterGroups,
    DeadLetterPage,
    DeadLetterReport,
    LetterReplay,
    Remediation,
    Resolution,
    Triage,
)
from holdfast.api.models.letter_selection import LetterQuery
from holdfast.api.requests.paging import link_next
from holdfast.api.requests.positions import cut, id_position
from holdfast.api.serving import Engine
from holdfast.views.dead_letter import LetterView

ROUTER: Final = guarded_router("dead-letters")
KIND: Final = "dead-letters"
_AS_IT_IS: Final = LetterReplay()

LetterId = Annotated[str, Path(description="The id of the letter and of its job.", max_length=255)]


@ROUTER.get("", response_model=DeadLetterPage)
def list_dead_letters(
    query: Annotated[LetterQuery, Query()],
    who: Reader,
    engine: Engine,
    request: Request,
    response: Response,
) -> dict[str, object]:
    """List dead letters, newest job first."""
    found = engine.dead.find(
        query.filter(),
        before=id_position(KIND, query.cursor),
        limit=query.limit + 1,
        owner=owner_for(who, query.owner),
    )
    page, cursor = cut(found, limit=query.limit, kind=KIND, position=lambda view: view.id)
    link_next(request, response, cursor)
    shown = shown_to(who, engine)
    items = [shown.letter(view).to_document() for view in page]
    return {"items": items, "next_cursor": cursor}


@ROUTER.get("/groups")
def list_dead_letter_groups(
    who: Reader,
    engine: Engine,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeadLetterGroups:
    """List the causes for which letters wait for a person, the one with most letters first."""
    groups = engine.dead.groups(limit=limit, owner=who.owner)
    shown = shown_to(who, engine)
    return DeadLetterGroups(items=[DeadLetterGroup.of(group, shown) for group in groups])


@ROUTER.get("/{letter_id}", response_model=DeadLetterReport)
def get_dead_letter(letter_id: LetterId, who: Reader, engine: Engine) -> dict[str, object]:
    """Tell all that is known of a dead letter, its job's history and the audit log included."""
    report = engine.dead.show(letter_id, owner=who.owner)
    return shown_to(who, engine).letter_report(report).to_document()


@ROUTER.post("/{letter_id}/triage", response_model=DeadLetter)
def triage_dead_letter(
    letter_id: LetterId, said: Triage, who: Operator, engine: Engine
) -> dict[str, object]:
    """Say what kind of cause it is."""
    return _told(
        engine.dead.triage(
            letter_id, cause=said.cause, by=who.name, note=said.note, owner=who.owner
        )
    )


@ROUTER.post("/{letter_id}/remediate", response_model=DeadLetter)
def remediate_dead_letter(
    letter_id: LetterId, said: Remediation, who: Operator, engine: Engine
) -> dict[str, object]:
    """Say how it is known that the cause is gone."""
    return _told(
        engine.dead.remediate(letter_id, evidence=said.evidence, by=who.name, owner=who.owner)
    )


@ROUTER.post("/{letter_id}/replay", response_model=DeadLetter)
def replay_dead_letter(
    letter_id: LetterId, who: Operator, engine: Engine, said: LetterReplay = _AS_IT_IS
) -> dict[str, object]:
    """Send the job of a letter back to the stage that failed, or to the start."""
    return _told(
        engine.dead.replay(
            letter_id,
            by=who.name,
            reason=said.reason,
            from_start=said.from_start,
            confirm_idempotent=said.confirm_idempotent,
            owner=who.owner,
        )
    )


@ROUTER.post("/{letter_id}/resolve", response_model=DeadLetter)
def resolve_dead_letter(
    letter_id: LetterId, said: Resolution, who: Operator, engine: Engine
) -> dict[str, object]:
    """Close a letter whose job is complete, or, `unreplayed`, any other."""
    return _told(
        engine.dead.resolve(
            letter_id, note=said.note, by=who.name, unreplayed=said.unreplayed, owner=who.owner
        )
    )


def _told(view: LetterView) -> dict[str, object]:
    return view.to_document()
