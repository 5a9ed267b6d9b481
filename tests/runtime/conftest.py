from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast
from holdfast.runtime.clock import Chance
from holdfast.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_app(database_url: str, clock: ManualClock) -> Iterator[Callable[..., Holdfast]]:
    """Opens an app on the test's database, by the test's clock."""
    opened = []

    def open_one(*pipelines, **options) -> Holdfast:
        app = Holdfast(
            database_url, pipelines=pipelines, **{"clock": clock, "chance": Chance(1), **options}
        )
        opened.append(app)
        return app

    yield open_one
    for app in opened:
        app.close()
