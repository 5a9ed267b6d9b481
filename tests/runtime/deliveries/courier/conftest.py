from collections.abc import Callable

import pytest

from holdfast import Holdfast
from tests.runtime.deliveries.courier.desk import OPTIONS


@pytest.fixture
def open_for(open_app) -> Callable[..., Holdfast]:
    """Opens an app whose deliveries go through these providers."""

    def open_one(*providers, **options) -> Holdfast:
        return open_app(providers=providers, **{"courier": OPTIONS, **options})

    return open_one
