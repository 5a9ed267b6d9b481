from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.testing import Script
from tests.engine.connections.blocking import WAYS, Way
from tests.engine.mailbox import BOTH, OPTIONS, Mailbox


@pytest.fixture
def app(open_app, clock) -> Holdfast:
    """An app with a pipeline `p`, and a table of its user's own beside its tables."""
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(Script(then="done").handler)
    app = open_app(pipeline, providers=[Mailbox(clock, BOTH)], courier=OPTIONS)
    with app.store.transaction() as connection:
        connection.execute("create table orders (number integer)")
    return app


@pytest.fixture
def ways(app, database_url: str) -> Iterator[list[Way]]:
    """Every library whose connections block, connected to the app's database."""
    with ExitStack() as opened:
        yield [opened.enter_context(closing(way(database_url))) for way in WAYS]
