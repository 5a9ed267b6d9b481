import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def either_database_url(request: pytest.FixtureRequest) -> str:
    """As `database_url`: of one dialect in every run, of the other in the slow one."""
    return request.getfixturevalue(f"{request.param}_url")
