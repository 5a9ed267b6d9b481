from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def either_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: of one dialect in every run, of the other in the slow one."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    return request.getfixturevalue("postgres_url")
