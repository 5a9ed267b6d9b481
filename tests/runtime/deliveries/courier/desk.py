"""A courier that is turned by hand, and a provider that does what it is told."""

from collections.abc import Callable
from typing import Any

from holdfast import Holdfast, Retry
from holdfast.core.delivery.delivery import Delivery
from holdfast.core.values.instant import SECOND_US
from holdfast.deliveries import CourierOptions, Evidence, Promise
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.deliveries.courier import Courier
from holdfast.runtime.deliveries.stage_deliveries import Notices
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.store.tables.deliveries import DeliveryRows

LOOKUP = Promise(lookup_lag=0.0)
OPTIONS = CourierOptions(
    timeout=10,
    lease=30,
    concurrency=3,
    retry=Retry(attempts=3, base=8, factor=1, jitter="none"),
)


class Clerk:
    """A provider that counts its calls, and does what it is told."""

    def __init__(self, promise: Promise = LOOKUP, *, name: str = "mail", **more) -> None:
        self.name, self.promise = name, promise
        self.sent: list[str] = []
        self.raises: Exception | None = None
        for key, value in more.items():
            setattr(self, key, value)

    def send(self, message, *, token: str, timeout_s: float) -> Evidence:
        self.sent.append(message["to"])
        if self.raises is not None:
            raise self.raises
        return Evidence(f"m-{len(self.sent)}")

    def lookup(self, *, token: str, notification_id: str | None, timeout_s: float):
        return None


class Meddled:
    """A store in which something else happens right before deliveries are next written."""

    def __init__(self, store: Any, action: Callable[[], None]) -> None:
        self._store, self._action = store, action
        self.deliveries = (
            self if isinstance(store, DeliveryRows) else Meddled(store.deliveries, action)
        )

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        action, self._action = self._action, lambda: None
        action()
        return self._store.apply(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Desk:
    """A courier whose errands are run when the test says so."""

    def __init__(
        self, app: Holdfast, *, breakers: Breakers | None = None, store: Any = None
    ) -> None:
        self.app = app
        self.waiting: list[Callable[[], None]] = []
        settler = Settler(
            app.store, plans=PlanCache(app.store), chance=app.chance, announcer=app.announcer
        )
        notices = Notices(
            app.store, providers=app.dispatch.providers, settler=settler, chance=app.chance
        )
        self.courier = Courier(
            store or app.store,
            dispatch=app.dispatch,
            notices=notices,
            holder="courier-1",
            clock=app.clock,
            chance=app.chance,
            poll_us=SECOND_US,
            breakers=breakers,
            start=self.waiting.append,
        )

    def tick(self) -> None:
        self.courier.tick(self.app.clock.now())

    def run(self) -> int:
        """Run what is waiting, and return how much that was."""
        errands, self.waiting[:] = list(self.waiting), []
        for errand in errands:
            errand()
        return len(errands)


def deliver(app: Holdfast, count: int = 1, **options) -> list[Delivery]:
    recipients = [f"{number}@example.test" for number in range(count)]
    views = app.deliver("s", recipients=recipients, message={}, **options)
    return [view.delivery for view in views]


def read(app: Holdfast, delivery: Delivery) -> Delivery:
    return app.deliveries.get(delivery.id).delivery
