"""A system whose jobs fail at one stage or another, and the files of its letters."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.core.job.job import Job
from holdfast.letter_files.mirror import LetterMirror
from holdfast.testing import drain
from tests.engine.letter_files.folders import Gateway


@pytest.fixture
def pipeline(gateway: Gateway) -> Pipeline:
    made = Pipeline("mail")

    @made.stage
    def row_write(job, title: str) -> str:
        gateway.sent.append(title)
        if gateway.down:
            raise GiveUp("GATEWAY_DOWN", "no answer")
        return title

    @made.stage
    def tell(job, row_write: str) -> str:
        if gateway.deaf:
            raise GiveUp("DEAF", "nobody listens")
        return row_write

    return made


@pytest.fixture
def mirror(app: Holdfast, folder: Path) -> Iterator[LetterMirror]:
    made = LetterMirror(app, folder)
    yield made
    made.close()


@pytest.fixture
def die(app: Holdfast) -> Callable[..., Job]:
    def make(key: str = "k-1", title: str = "Meeting") -> Job:
        job = app.submit("mail", {"title": title}, key=key)
        drain(app)
        app.clock.advance(1)
        return app.job(job.id).job

    return make
