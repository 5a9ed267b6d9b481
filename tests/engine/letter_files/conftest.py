"""A system whose jobs fail, and another to move their letters to."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.testing import ManualClock, drain
from tests.engine.letter_files.folders import Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def pipeline(gateway: Gateway) -> Pipeline:
    made = Pipeline("mail")

    @made.stage
    def row_write(job, payload: object):
        if gateway.down:
            raise GiveUp("GATEWAY_DOWN", "no answer")
        return payload

    return made


@pytest.fixture
def app(open_app, pipeline: Pipeline) -> Holdfast:
    return open_app(pipeline)


@pytest.fixture
def other(tmp_path: Path, pipeline: Pipeline, clock: ManualClock) -> Iterator[Holdfast]:
    """Another system: an empty database of its own."""
    url = f"sqlite:///{tmp_path / 'other.db'}"
    with Holdfast(url, pipelines=[pipeline], clock=clock) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "dlq"


@pytest.fixture
def die(app: Holdfast) -> Callable[..., str]:
    """Makes a dead letter."""

    def make(payload: object = None, **options) -> str:
        job = app.submit("mail", {"n": 1} if payload is None else payload, **options)
        drain(app)
        app.clock.advance(1)
        return job.id

    return make
