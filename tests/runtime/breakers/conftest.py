"""An upstream of the test's own."""

import pytest

from tests.runtime.breakers.calls import Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()
