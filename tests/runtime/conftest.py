from collections.abc import Callable, Iterator
from contextlib import ExitStack

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
    with ExitStack() as opened:

        def open_one(*pipelines, **options) -> Holdfast:
            given = {"clock": clock, "chance": Chance(1), **options}
            return opened.enter_context(Holdfast(database_url, pipelines=pipelines, **given))

        yield open_one
