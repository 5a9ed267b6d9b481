from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from holdfast import Holdfast, Pipeline, Retry
from holdfast.api import ApiOptions, create_api
from holdfast.testing import ManualClock, Script
from tests.api.clients import client_of, on_loop


@pytest.fixture
def script() -> Script:
    """What the stage `one` of the pipeline `p` does, call by call: it returns 1."""
    return Script(then=1)


@pytest.fixture
def pipeline(script: Script) -> Pipeline:
    made = Pipeline("p", retry=Retry(attempts=1, base=1, jitter="none"))
    made.stage(name="one")(script.handler)
    return made


@pytest.fixture
def app(database_url: str, pipeline: Pipeline, clock: ManualClock) -> Iterator[Holdfast]:
    """An application with the pipeline `p`, once on each database, by the test's clock."""
    with Holdfast(database_url, pipelines=[pipeline], clock=clock) as made:
        yield made


@pytest.fixture
def small_app(sqlite_url: str, pipeline: Pipeline, clock: ManualClock) -> Iterator[Holdfast]:
    """The same on SQLite alone, for what no database has a part in."""
    with Holdfast(sqlite_url, pipelines=[pipeline], clock=clock) as made:
        yield made


@pytest.fixture(scope="module")
def steady_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    """One application for all tests of a file that leave nothing behind, by the real clock."""
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(lambda job, payload: 1)
    url = f"sqlite:///{tmp_path_factory.mktemp('steady') / 'holdfast.db'}"
    with Holdfast(url, pipelines=[pipeline]) as made:
        yield made


@pytest.fixture(scope="module")
def steady_client(steady_app: Holdfast) -> TestClient:
    """A client of `steady_app`, as the local operator."""
    return client_of(create_api(steady_app, options=ApiOptions(host="127.0.0.1")))


@pytest.fixture
def serve() -> Iterator[Callable[..., TestClient]]:
    """Serves an application inside the test, as if on loopback, and returns a client of it."""

    def make(app: Holdfast, *, token: str | None = None, **options: object) -> TestClient:
        api = create_api(app, options=ApiOptions(**{"host": "127.0.0.1", **options}))
        return on_loop(clients.enter_context(closing(client_of(api, token=token))), loop)

    with start_blocking_portal() as loop, ExitStack() as clients:
        yield make


@pytest.fixture
def client(app: Holdfast, serve: Callable[..., TestClient]) -> TestClient:
    """A client of `app`, as the local operator."""
    return serve(app)
