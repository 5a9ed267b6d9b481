from collections.abc import Callable, Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from apps.criticizer.tests.scripted import Criticizer
from criticizer.http.routes import routes_of
from holdfast.api import ApiOptions, create_api
from tests.api.clients import on_loop

OWN_TOKEN = "an-operators-own-token-of-enough-length"


@pytest.fixture
def visit(criticizer: Criticizer) -> Iterator[Callable[..., TestClient]]:
    """Make the client of somebody with a token, the operator unless told otherwise."""
    api = create_api(criticizer.app, options=ApiOptions(host="127.0.0.1", token=OWN_TOKEN))
    api.include_router(routes_of(criticizer.reviews))

    def one(token: str | None = OWN_TOKEN) -> TestClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return on_loop(TestClient(api, base_url="http://127.0.0.1", headers=headers), loop)

    with start_blocking_portal() as loop:
        yield one
    api.state.replays.stop()
