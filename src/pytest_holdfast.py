"""The pytest plugin of holdfast: fixtures for tests of programs that use it.

It stands beside the package because pytest imports it in every run of an environment that has
holdfast: nothing of that is loaded before a test uses a fixture.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from holdfast import Holdfast, JobView, Pipeline
    from holdfast.engine.functions import JobFunction
    from holdfast.testing import ManualClock, Ran, Script

__all__ = [
    "assert_submitted",
    "drain",
    "holdfast_app",
    "holdfast_clock",
    "holdfast_pipelines",
    "holdfast_url",
    "scripted",
]


class Drain(Protocol):
    """What the fixture `drain` is."""

    def __call__(self, *, most: int = ...) -> list[Ran]:
        """Run jobs until nothing is left that can happen by itself."""
        ...


class AssertSubmitted(Protocol):
    """What the fixture `assert_submitted` is."""

    def __call__(
        self, what: Pipeline | JobFunction[..., Any] | str, /, **payload: object
    ) -> JobView:
        """Return the latest job of a pipeline or function whose payload has these values."""
        ...


class Scripted(Protocol):
    """What the fixture `scripted` is."""

    def __call__(self, target: str, *outcomes: object, **then: object) -> Script:
        """Put a script in the place of `package.module.name` for the length of the test."""
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the settings of this plugin."""
    parser.getgroup("holdfast").addoption(
        "--holdfast-postgres",
        metavar="URL",
        help="a PostgreSQL server on which every test gets a database of its own; else SQLite",
    )
    parser.addini("holdfast_postgres", "the same as --holdfast-postgres", default="")
    parser.addini(
        "holdfast_app",
        "module:app, or module:function that makes it of a URL and clock=; holdfast_app is made so",
        default="",
    )


@pytest.fixture(scope="session")
def _new_holdfast_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """What returns the URL of a new database with the schema, given a folder."""
    from holdfast import Holdfast  # noqa: PLC0415 - only where a fixture is used

    def migrate(url: str) -> None:
        with Holdfast(url) as app:
            app.store.check_schema()

    config = request.config
    server = config.getoption("--holdfast-postgres") or config.getini("holdfast_postgres")
    if not server:
        migrated = tmp_path_factory.mktemp("holdfast") / "holdfast.db"
        migrate(f"sqlite:///{migrated}")
        yield lambda folder: f"sqlite:///{shutil.copyfile(migrated, folder / 'holdfast.db')}"
        return
    from holdfast.testing.postgres.databases import DisposableDatabases  # noqa: PLC0415

    databases = DisposableDatabases(server, label="pytest")
    try:
        yield lambda _: databases.fresh(template=databases.template("schema", build=migrate))
    finally:
        databases.drop_all()


@pytest.fixture
def holdfast_url(_new_holdfast_url: Any, tmp_path: Path) -> str:  # noqa: ANN401 - see there
    """The URL of a database of this test's own: SQLite, or PostgreSQL where one is named."""
    url: str = _new_holdfast_url(tmp_path)
    return url


@pytest.fixture
def holdfast_clock() -> ManualClock:
    """The clock of `holdfast_app`, which a test moves."""
    from holdfast.testing import ManualClock  # noqa: PLC0415 - only where a fixture is used

    return ManualClock()


@pytest.fixture
def holdfast_pipelines() -> Iterable[Pipeline]:
    """The pipelines of `holdfast_app` where the setting `holdfast_app` names none: override it."""
    return ()


@pytest.fixture
def holdfast_app(
    request: pytest.FixtureRequest,
    holdfast_url: str,
    holdfast_clock: ManualClock,
    holdfast_pipelines: Iterable[Pipeline],
) -> Iterator[Holdfast]:
    """The application of the setting `holdfast_app`, or of `holdfast_pipelines`, for this test."""
    from holdfast import Holdfast  # noqa: PLC0415 - only where a fixture is used
    from holdfast.testing import rebuilt  # noqa: PLC0415

    location = request.config.getini("holdfast_app")
    opened: AbstractContextManager[Holdfast]
    if not location:
        opened = Holdfast(holdfast_url, pipelines=holdfast_pipelines, clock=holdfast_clock)
    else:
        named = resolve_name(location)
        if isinstance(named, Holdfast):
            opened = rebuilt(named, holdfast_url, clock=holdfast_clock)
        else:
            opened = named(holdfast_url, clock=holdfast_clock)
    with ExitStack() as stack:
        yield stack.enter_context(opened)


@pytest.fixture
def drain(holdfast_app: Holdfast) -> Drain:
    """`drain()` runs the jobs of `holdfast_app` to their ends, past every delay."""
    from holdfast.testing import drain as run  # noqa: PLC0415 - only where a fixture is used

    def drain_app(*, most: int = 10_000) -> list[Ran]:
        return run(holdfast_app, most=most)

    return drain_app


@pytest.fixture
def assert_submitted(holdfast_app: Holdfast) -> AssertSubmitted:
    """`assert_submitted(send, to="…")` returns the job, or fails with what was submitted."""
    from holdfast.testing import assert_submitted as look  # noqa: PLC0415 - as above

    def look_in_app(what: Pipeline | JobFunction[..., Any] | str, /, **payload: object) -> JobView:
        return look(holdfast_app, what, **payload)

    return look_in_app


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """`scripted("shop.charge", TimeoutError, "receipt")` has it fail once, then succeed."""
    from holdfast.testing import Script  # noqa: PLC0415 - only where a fixture is used

    def put(target: str, *outcomes: object, **then: object) -> Script:
        script = Script(*outcomes, **then)
        monkeypatch.setattr(target, script)
        return script

    return put
