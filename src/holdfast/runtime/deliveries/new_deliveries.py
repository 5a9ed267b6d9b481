"""From what is asked to deliveries that can be stored."""

from __future__ import annotations

from typing import Any, Final, cast

from holdfast.core.delivery.delivery import Asked, Delivery, intent
from holdfast.core.values.document import decode, encode
from holdfast.core.values.ids import IdSequence
from holdfast.core.values.instant import Instant
from holdfast.runtime.deliveries.provider import BoundProvider, Providers
from holdfast.runtime.kernel.clock import Chance

_ID_BITS: Final = 62


class NewDeliveries:
    """Makes deliveries of what is asked."""

    def __init__(self, providers: Providers, chance: Chance) -> None:
        self._providers = providers
        self._chance = chance
        self._ids = IdSequence()

    def of(
        self,
        asked: Asked,
        *,
        now: Instant,
        job_id: str | None = None,
        stage: str | None = None,
        trace: str | None = None,
    ) -> list[Delivery]:
        """Return a delivery for each recipient, or raise when one can never be sent."""
        bound = self._providers.chosen(asked.provider)
        return [
            self._row(bound, asked, number, now=now, job_id=job_id, stage=stage, trace=trace)
            for number in range(len(asked.recipients))
        ]

    def _row(
        self,
        bound: BoundProvider,
        asked: Asked,
        number: int,
        *,
        now: Instant,
        job_id: str | None,
        stage: str | None,
        trace: str | None,
    ) -> Delivery:
        recipient, message, required = asked.recipients[number]
        document = cast("dict[str, Any]", decode(message))
        whole = encode(bound.addressed(document, recipient), what="message")
        return intent(
            self._ids.next(now=now, chance=self._chance.bits(_ID_BITS)),
            subject=asked.subject,
            recipient=recipient,
            version=asked.version,
            provider=bound.name,
            message=whole,
            now=now,
            job_id=job_id,
            stage=stage,
            required=required,
            trace=trace,
        )
