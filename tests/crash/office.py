"""Deliveries to a postbox by workers that a test starts and kills."""

from collections import Counter

from holdfast import Holdfast
from holdfast.deliveries import CourierOptions, DeliveryFilter, DeliveryState, Promise
from tests.crash.fleet import Fleet, WorkerProcess, eventually
from tests.crash.postbox import GOOD, OPTIONS, Post, Postbox, posted_to

LAG_S = 1.0
PROMISES = {
    "both": GOOD,
    "lookup": Promise(lookup_lag=LAG_S),
    "dedupes": Promise(dedupes_for=3600),
    "neither": Promise(),
}
OPEN = (DeliveryState.INTENT, DeliveryState.SENDING)


class Office:
    """Deliveries to a postbox by workers of a fleet."""

    def __init__(self, fleet: Fleet, postbox: Postbox, promise: Promise) -> None:
        self.fleet = fleet
        self.postbox = postbox
        self.promise = promise
        postbox.dedupes = promise.dedupes_for is not None
        self.app = self.opened()

    def opened(self) -> Holdfast:
        post = Post(self.postbox.port, self.promise)
        return Holdfast(self.fleet.url, providers=[post], courier=CourierOptions(**OPTIONS))

    def deliver(self, count: int) -> list[str]:
        return self.deliver_to([f"{number}@example.test" for number in range(count)])

    def deliver_to(self, recipients: list[str]) -> list[str]:
        views = self.app.deliver("review", recipients=recipients, message={"text": "hello"})
        return [view.id for view in views]

    def start(self, **options) -> WorkerProcess:
        environment = posted_to(self.postbox, self.promise)
        return self.fleet.start(environment=environment, only="notice", **options)

    def states(self) -> Counter[str]:
        return Counter(view.state.value for view in self.app.deliveries.find(limit=10_000))

    def settled(self, *, within_s: float = 30.0) -> Counter[str]:
        """Wait until no delivery is to be sent or to be found out about, and return the states."""
        wanted = DeliveryFilter(states=OPEN)
        eventually(
            lambda: not self.app.deliveries.find(wanted, limit=1),
            what="every delivery has come to an end",
            within_s=within_s,
        )
        return self.states()

    def sound(self) -> None:
        assert self.app.verify() == []
