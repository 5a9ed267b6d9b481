"""`/api/upstreams`: what stages call, and the breakers before it."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path

from holdfast.api.access import OperatorOfAll, ReaderOfAll, guarded_router
from holdfast.api.models.upstreams import (
    BreakerAction,
    BreakerOrder,
    Upstream,
    UpstreamReport,
    Upstreams,
)
from holdfast.api.models.values.acting import Action
from holdfast.api.models.values.texts import Plain
from holdfast.api.serving import Engine
from holdfast.views.explain.waiting import holds

ROUTER: Final = guarded_router("upstreams")

UpstreamName = Annotated[Plain, Path(description="The name of the upstream.")]


@ROUTER.get("", response_model=Upstreams)
def list_upstreams(_who: ReaderOfAll, engine: Engine) -> dict[str, object]:
    """List every upstream that stages call or that anything is known about, by name."""
    return {"items": [view.to_document() for view in engine.upstreams.list()]}


@ROUTER.get("/{name}", response_model=UpstreamReport)
def get_upstream(name: UpstreamName, _who: ReaderOfAll, engine: Engine) -> dict[str, object]:
    """Tell how an upstream stands, and what recently happened to its breaker."""
    report = engine.upstreams.show(name)
    actions = [Action.of(entry) for entry in report.actions]
    held = engine.upstreams.due(name) if holds(report.view) else []
    counted = {"held_jobs": sum(stage.due for stage in held), "actions": actions}
    return {**report.view.to_document(), **counted}


@ROUTER.post("/{name}/breaker", response_model=Upstream)
def order_breaker(
    name: UpstreamName, order: BreakerOrder, who: OperatorOfAll, engine: Engine
) -> dict[str, object]:
    """Hold a breaker open or closed, let go of it and forget everything, or have it tried now."""
    act = {
        BreakerAction.OPEN: engine.upstreams.force_open,
        BreakerAction.CLOSE: engine.upstreams.force_closed,
        BreakerAction.RESET: engine.upstreams.reset,
        BreakerAction.PROBE: engine.upstreams.probe,
    }[order.action]
    return act(name, by=who.name, reason=order.reason).to_document()
