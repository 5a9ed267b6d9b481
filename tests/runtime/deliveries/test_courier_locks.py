"""While a provider is called nothing in the database is locked."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import psycopg

from holdfast import Holdfast
from holdfast.deliveries import CourierOptions, Evidence, Promise
from holdfast.testing import ManualClock, drain


class Curious:
    """A provider that looks, while it is being called, whether others get at the deliveries."""

    name = "curious"
    promise = Promise()

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls = 0

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        if self.url.startswith("sqlite"):
            path = self.url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
                connection.execute("begin immediate")
                connection.execute("rollback")
        else:
            with psycopg.connect(self.url) as connection:
                connection.execute("lock table holdfast.delivery in exclusive mode nowait")
                connection.execute("select id from holdfast.delivery for update nowait")
        self.calls += 1
        return Evidence(f"m-{self.calls}")


def test_no_row_is_locked_while_a_provider_is_called(database_url: str):
    provider = Curious(database_url)
    with Holdfast(
        database_url,
        providers=[provider],
        courier=CourierOptions(timeout=5, lease=30),
        clock=ManualClock(),
    ) as app:
        app.deliver("s", recipients=["a@example.test", "b@example.test"], message={"text": "hi"})
        drain(app)

        assert provider.calls == 2
        assert [view.state for view in app.deliveries.find()] == ["sent", "sent"]
