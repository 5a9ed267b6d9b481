"""`/api/deliveries`: who was sent what, and what to do where nobody knows."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import Operator, Reader, guarded_router, shown_to
from holdfast.api.models.deliveries import (
    Delivery,
    DeliveryPage,
    DeliveryReport,
    DeliveryResolution,
)
from holdfast.api.models.values.acting import Action
from holdfast.api.models.values.moment import When, instant
from holdfast.api.models.values.texts import Plain
from holdfast.api.requests.paging import PageQuery, link_next
from holdfast.api.requests.positions import cut, id_position
from holdfast.api.serving import Engine
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.store.tables.deliveries import DeliveryFilter

ROUTER: Final = guarded_router("deliveries")
KIND: Final = "deliveries"
HIGHEST_VERSION: Final = 2**31 - 1

DeliveryId = Annotated[Plain, Path(description="The id of the delivery.")]


class DeliveryQuery(PageQuery):
    """Which deliveries; what is left out matches everything."""

    state: list[DeliveryState] = Field(default=[], max_length=len(DeliveryState))
    provider: Plain | None = None
    subject: Plain | None = None
    recipient: Plain | None = None
    version: int | None = Field(default=None, ge=0, le=HIGHEST_VERSION)
    job_id: Plain | None = None
    error_class: Plain | None = None
    created_since: When | None = None
    created_until: When | None = None

    def filter(self) -> DeliveryFilter:
        """Return the engine's filter."""
        return DeliveryFilter(
            states=tuple(self.state),
            provider=self.provider,
            subject=self.subject,
            recipient=self.recipient,
            version=self.version,
            job_id=self.job_id,
            error_class=self.error_class,
            created_since=instant(self.created_since),
            created_until=instant(self.created_until),
        )


@ROUTER.get("", response_model=DeliveryPage)
def list_deliveries(
    query: Annotated[DeliveryQuery, Query()],
    who: Reader,
    engine: Engine,
    request: Request,
    response: Response,
) -> dict[str, object]:
    """List deliveries, newest first."""
    found = engine.deliveries.find(
        query.filter(),
        before=id_position(KIND, query.cursor),
        limit=query.limit + 1,
        owner=who.owner,
    )
    page, cursor = cut(found, limit=query.limit, kind=KIND, position=lambda view: view.id)
    link_next(request, response, cursor)
    shown = shown_to(who, engine)
    items = [shown.delivery(view).to_document() for view in page]
    return {"items": items, "next_cursor": cursor}


@ROUTER.get("/{delivery_id}", response_model=DeliveryReport)
def get_delivery(delivery_id: DeliveryId, who: Reader, engine: Engine) -> dict[str, object]:
    """Return a delivery, what came of its sends and lookups, and what was done about it."""
    report = shown_to(who, engine).delivery_report(
        engine.deliveries.show(delivery_id, owner=who.owner)
    )
    actions = [Action.of(entry) for entry in report.actions]
    return {**report.to_document(), "actions": actions}


@ROUTER.post("/{delivery_id}/resolve", response_model=Delivery)
def resolve_delivery(
    delivery_id: DeliveryId, said: DeliveryResolution, who: Operator, engine: Engine
) -> dict[str, object]:
    """Say what became of a delivery, or what is to become of it."""
    view = engine.deliveries.resolve(
        delivery_id, said.word, by=who.name, reason=said.reason, owner=who.owner
    )
    return view.to_document()
