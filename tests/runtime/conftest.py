from typing import Any

import pytest

from holdfast.runtime.kernel.clock import Chance
from holdfast.testing import ManualClock


@pytest.fixture
def app_options(clock: ManualClock) -> dict[str, Any]:
    """Apps by the test's clock, and by the same chance every time."""
    return {"clock": clock, "chance": Chance(1)}
