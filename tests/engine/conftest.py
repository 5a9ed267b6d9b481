from collections.abc import Callable

import pytest

from holdfast import Holdfast, Pipeline, Retry
from holdfast.deliveries import Promise
from holdfast.testing import Script
from tests.engine.mailbox import BOTH, OPTIONS, Mailbox


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
