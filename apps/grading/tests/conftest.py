import pytest

from holdfast.testing import ManualClock


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
