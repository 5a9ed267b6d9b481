import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast
from holdfast.testing import ManualClock

# What is started in the background of a shell ignores interrupts, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database with the schema and without a row, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database without the schema, once for each dialect."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    return request.getfixturevalue("empty_postgres_url")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def app_options(clock: ManualClock) -> dict[str, Any]:
    """What `open_app` opens apps with unless told otherwise; a folder may have its own."""
    return {"clock": clock}


@pytest.fixture
def open_app(database_url: str, app_options: dict[str, Any]) -> Iterator[Callable[..., Holdfast]]:
    """Opens apps on the test's database, and closes them with the test."""
    with ExitStack() as opened:

        def open_one(*pipelines, **options) -> Holdfast:
            given = {**app_options, **options}
            return opened.enter_context(Holdfast(database_url, pipelines=pipelines, **given))

        yield open_one
