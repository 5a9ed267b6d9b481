"""`/api/replays`: many dead letters sent back, with a preview, a canary, a rate and a stop rule."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.api.access import Operator, Reader, guarded_router, shown_to
from holdfast.api.auth.owners import owner_for
from holdfast.api.models.replays import (
    NewReplay,
    Replay,
    ReplayedLetter,
    ReplayedLetterPage,
    ReplayPage,
    ReplayPreview,
)
from holdfast.api.models.values.acting import NO_REASON, Reasoned
from holdfast.api.models.values.texts import Plain
from holdfast.api.problems import instance_of
from holdfast.api.replay_runner import background_of
from holdfast.api.requests.paging import PageQuery, link_next
from holdfast.api.requests.positions import cut, id_position, number_position
from holdfast.api.serving import Engine
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.replay import ReplayView

ROUTER: Final = guarded_router("replays")
KIND: Final = "replays"
LETTERS: Final = "replayed-letters"

ReplayId = Annotated[Plain, Path(description="The id of the replay.")]


@ROUTER.get("", response_model=ReplayPage)
def list_replays(
    query: Annotated[PageQuery, Query()],
    who: Reader,
    engine: Engine,
    request: Request,
    response: Response,
) -> dict[str, object]:
    """List replays, newest first."""
    found = engine.replays.latest(
        before=id_position(KIND, query.cursor), limit=query.limit + 1, owner=who.owner
    )
    page, cursor = cut(found, limit=query.limit, kind=KIND, position=lambda view: view.id)
    link_next(request, response, cursor)
    shown = shown_to(who, engine)
    items = [shown.replay(view).to_document() for view in page]
    return {"items": items, "next_cursor": cursor}


@ROUTER.post(
    "",
    status_code=201,
    response_model=Replay,
    responses={200: {"model": ReplayPreview, "description": "With `dry_run`: what it would do."}},
)
def start_replay(
    asked: NewReplay, who: Operator, engine: Engine, request: Request, response: Response
) -> Any:  # noqa: ANN401 - one of two models
    """Freeze the list of matching letters, and send them in the background, the oldest first.

    Which process serves does not matter, and a restart breaks nothing off.
    """
    wanted = asked.letters.filter()
    owner = owner_for(who, wanted.owner)
    if asked.dry_run:
        preview = engine.replays.preview(
            wanted,
            confirm_idempotent=asked.confirm_idempotent,
            readied=asked.evidence is not None,
            owner=owner,
        )
        return JSONResponse(preview.to_document())
    view = engine.replays.start(
        asked.name or _name_of(wanted),
        wanted,
        by=who.name,
        reason=asked.reason,
        canary=asked.canary,
        rate=asked.rate,
        stop_after=asked.stop_after,
        from_start=asked.from_start,
        confirm_idempotent=asked.confirm_idempotent,
        cause=asked.cause,
        evidence=asked.evidence,
        hand_over=True,
        owner=owner,
    )
    background_of(request.app).look()
    response.headers["Location"] = f"{instance_of(request.scope['path'])}/{view.id}"
    return view.to_document()


@ROUTER.get("/{replay_id}", response_model=Replay)
def get_replay(
    replay_id: ReplayId, who: Reader, engine: Engine, request: Request
) -> dict[str, object]:
    """Tell how far a replay has come."""
    view = engine.replays.show(replay_id, owner=who.owner)
    background_of(request.app).ensure()
    return _told(shown_to(who, engine).replay(view))


@ROUTER.get("/{replay_id}/letters")
def list_replayed_letters(
    replay_id: ReplayId,
    query: Annotated[PageQuery, Query()],
    who: Reader,
    engine: Engine,
    *,
    request: Request,
    response: Response,
) -> ReplayedLetterPage:
    """List the letters of a replay, in the order in which they are sent."""
    after = number_position(LETTERS, query.cursor) or 0
    found = engine.replays.items(replay_id, after=after, limit=query.limit + 1, owner=who.owner)
    page, cursor = cut(found, limit=query.limit, kind=LETTERS, position=lambda item: item.position)
    link_next(request, response, cursor)
    items = [ReplayedLetter.of(item) for item in shown_to(who, engine).replayed(page)]
    return ReplayedLetterPage(items=items, next_cursor=cursor)


@ROUTER.post("/{replay_id}/cancel", response_model=Replay)
def cancel_replay(
    replay_id: ReplayId, who: Operator, engine: Engine, said: Reasoned = NO_REASON
) -> dict[str, object]:
    """Send nothing more; what was sent goes on."""
    view = engine.replays.cancel(replay_id, by=who.name, reason=said.reason, owner=who.owner)
    return _told(view)


@ROUTER.post("/{replay_id}/resume", response_model=Replay)
def resume_replay(
    replay_id: ReplayId, who: Operator, engine: Engine, request: Request
) -> dict[str, object]:
    """Go on in the background with a replay that was begun elsewhere and broken off."""
    view = engine.replays.hand_over(replay_id, by=who.name, owner=who.owner)
    background_of(request.app).look()
    return _told(view)


def _told(view: ReplayView) -> dict[str, object]:
    return view.to_document()


def _name_of(wanted: LetterFilter) -> str:
    """Return what a replay is called that nobody named."""
    said = (wanted.fingerprint, wanted.error_class, wanted.pipeline, wanted.stage, wanted.owner)
    return next((word for word in said if word is not None), "all that wait")
