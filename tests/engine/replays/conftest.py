"""An app whose jobs have died of one cause that is gone."""

from collections.abc import Callable

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.testing import drain
from tests.engine.replays.gateway import Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def pipeline(gateway: Gateway) -> Pipeline:
    made = Pipeline("p")

    @made.stage
    def fetch(job, n: int) -> int:
        return n

    made.stage(name="convert")(gateway.call)
    return made


@pytest.fixture
def app(open_app, pipeline: Pipeline) -> Holdfast:
    return open_app(pipeline)


@pytest.fixture
def fail(app: Holdfast, gateway: Gateway) -> Callable[..., list[str]]:
    """Makes that many dead letters, and mends the gateway."""

    def make(count: int, *, first: int = 0, keys: bool = True) -> list[str]:
        gateway.down_for = None
        ids = [
            app.submit("p", {"n": n}, key=f"k-{n}" if keys else None).id
            for n in range(first, first + count)
        ]
        drain(app)
        gateway.down_for = set()
        gateway.calls.clear()
        return ids

    return make
