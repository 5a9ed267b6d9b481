"""What a worker needs to carry deliveries out, made together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.runtime.deliveries.courier import Courier, Start, in_thread
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Providers
from holdfast.runtime.deliveries.reconciler import Reconciler
from holdfast.runtime.deliveries.stage_deliveries import Notices
from holdfast.runtime.events.decision_messages import NONE_KNOWN, DecisionMessages
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.store.contract import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.runtime.breakers.breakers import Breakers
    from holdfast.runtime.events.announce import Announcer


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The providers of an application, and how its workers use them."""

    providers: Providers = field(default_factory=Providers)
    options: CourierOptions = field(default_factory=CourierOptions)

    def notices(
        self,
        store: Store,
        *,
        chance: Chance,
        announcer: Announcer,
        decisions: DecisionMessages = NONE_KNOWN,
        changed: Callable[[], None] = lambda: None,
    ) -> Notices | None:
        """Return what stands between jobs and deliveries; None where there are no providers."""
        if not len(self.providers):
            return None
        settler = Settler(
            store,
            plans=PlanCache(store),
            chance=chance,
            announcer=announcer,
            decisions=decisions,
        )
        return Notices(
            store, providers=self.providers, settler=settler, chance=chance, changed=changed
        )

    def courier(
        self,
        store: Store,
        *,
        notices: Notices,
        holder: str,
        clock: Clock,
        chance: Chance,
        poll_us: int,
        breakers: Breakers | None = None,
        start: Start = in_thread,
    ) -> Courier:
        """Return a courier for all providers."""
        return Courier(
            store,
            holder=holder,
            providers=self.providers,
            notices=notices,
            clock=clock,
            chance=chance,
            options=self.options,
            poll_us=poll_us,
            breakers=breakers,
            start=start,
        )

    def reconciler(self, store: Store, *, clock: Clock, chance: Chance) -> Reconciler:
        """Return what compares marks with what the providers know."""
        return Reconciler(
            store, providers=self.providers, clock=clock, chance=chance, options=self.options
        )
