from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast, Pipeline, Promise, Retry
from holdfast.testing import ManualClock, Script
from tests.engine.mailbox import BOTH, OPTIONS, Mailbox


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_app(database_url: str, clock: ManualClock) -> Iterator[Callable[..., Holdfast]]:
    """Opens an app on the test's database, by the test's clock."""
    opened = []

    def open_one(*pipelines, **options) -> Holdfast:
        app = Holdfast(database_url, pipelines=pipelines, **{"clock": clock, **options})
        opened.append(app)
        return app

    yield open_one
    for app in opened:
        app.close()


@pytest.fixture
def script() -> Script:
    """What the stage of `app` does, call by call: it returns 1."""
    return Script(then=1)


@pytest.fixture
def app(open_app, script) -> Holdfast:
    """An app with a pipeline `p` of one stage that plays the script."""
    pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
    pipeline.stage(name="one")(script.handler)
    return open_app(pipeline)


@pytest.fixture
def with_mail(open_app, clock) -> Callable[..., tuple[Holdfast, Mailbox]]:
    """Makes an app with one provider of a promise, and returns both."""

    def make(promise: Promise = BOTH, *pipelines, **options) -> tuple[Holdfast, Mailbox]:
        mailbox = Mailbox(clock, promise)
        given = {"providers": [mailbox], "courier": OPTIONS, **options}
        return open_app(*pipelines, **given), mailbox

    return make
