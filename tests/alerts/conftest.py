"""Alerts of an app on the test's database, told to a real receiver of webhooks."""

from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast
from holdfast.alerts import Alerting, AlertOptions
from holdfast.alerts.webhook import WebhookSink
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from tests.bridges.fake_receiver import SECRET, ReceiverLedger, fake_receiver
from tests.bridges.wire import FakeApi

PATIENCE_S = 30


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for a while."""
    given_up_at_s = monotonic_s() + PATIENCE_S
    while not holds():
        assert monotonic_s() < given_up_at_s
        sleep_s(0.01)


@pytest.fixture
def receiver() -> Iterator[tuple[FakeApi, ReceiverLedger]]:
    """Somebody's server, which checks every signature."""
    api, ledger = fake_receiver()
    with api:
        yield api, ledger


@pytest.fixture
def alerting(receiver) -> Iterator[Callable[..., Alerting]]:
    """Starts to alert about an app."""
    api, _ = receiver
    started = []

    def start(app: Holdfast, **options) -> Alerting:
        quiet = {"deadline_within": 0, "attention_after": 0, "look_every": 0.05}
        chosen = AlertOptions(**quiet | options)
        sink = WebhookSink(f"{api.url}/hooks", SECRET)
        made = Alerting(app, sinks=[sink], options=chosen)
        made.start()
        started.append(made)
        return made

    yield start
    for made in started:
        made.close()


@pytest.fixture
def told(receiver) -> Callable[[int], list[dict]]:
    """Waits until so many alerts have come, and returns them."""
    _, ledger = receiver

    def wait(count: int) -> list[dict]:
        until(lambda: len(ledger.handled) >= count)
        return [document["data"] for document in ledger.handled]

    return wait
