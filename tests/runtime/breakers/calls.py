"""An upstream that is up or down, and workers whose jobs call it."""

from dataclasses import replace
from typing import Any

from holdfast import Holdfast, Pipeline, Retry, Upstream
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate
from holdfast.errors import StoreUnavailable
from tests.runtime.crew import Crew

FIVE = Breaker(consecutive=5, cooldown=30, growth=1, successes=1, release=0)
PATIENT = Retry(attempts=50, base=0, cap=0, jitter="none")


class Gateway:
    """An upstream that is up or down, and counts the calls that reach it."""

    def __init__(self) -> None:
        self.up = True
        self.calls = 0
        self.raises: Exception = ConnectionError("refused")

    def call(self) -> str:
        self.calls += 1
        if not self.up:
            raise self.raises
        return "fine"


class Unwritable:
    """A real store in which upstreams cannot be written while it is down."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.down = False

    @property
    def upstreams(self) -> Any:
        return self

    def all(self) -> Any:
        return self._store.upstreams.all()

    def get(self, name: str) -> Any:
        return self._store.upstreams.get(name)

    def save(self, *args: Any, **kwargs: Any) -> Any:
        if self.down:
            raise StoreUnavailable("test://", reason="refused")
        return self._store.upstreams.save(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def calling(gateway: Gateway, upstream: Upstream, name: str = "p") -> Pipeline:
    pipeline = Pipeline(name, retry=PATIENT)

    @pipeline.stage(calls=replace(upstream, retry=upstream.retry or PATIENT))
    def one(_job) -> str:
        return gateway.call()

    return pipeline


def state_of(app: Holdfast):
    return app.store.upstreams.get("gateway")


def turn(crew: Crew) -> None:
    """One round of a worker: breakers, claim, run, report, breakers."""
    crew.breakers.tick(crew.clock.now())
    crew.work()
    crew.breakers.tick(crew.clock.now())


def opened(open_app, gateway, upstream=None, *, jobs=8):
    """An app whose one worker has seen the gateway fail until the breaker opened."""
    app = open_app(calling(gateway, upstream or Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=5)
    for _ in range(jobs):
        app.submit("p")
    gateway.up = False
    turn(crew)
    assert state_of(app).gate is Gate.OPEN
    return app, crew
