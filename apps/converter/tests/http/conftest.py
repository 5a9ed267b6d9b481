from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from apps.converter.tests.system.stand_in import Converter, make_converter
from converter.codes import CODES, FORBIDDEN
from converter.http.routes import Served, routes_of
from holdfast.api import ApiOptions, create_api
from tests.api.clients import on_loop

MAX_BYTES = 10_000
ATTEMPTS = 3
OWN_TOKEN = "an-operators-own-token-of-enough-length"


@pytest.fixture
def converter(database_url, uploads, results) -> Iterator[Converter]:
    yield from make_converter(database_url, uploads, results, max_bytes=MAX_BYTES, max_under_way=5)


@pytest.fixture
def kept_since() -> dict[str, datetime]:
    """Since when files are kept, to be changed by a test."""
    return {"then": datetime.min.replace(tzinfo=UTC)}


@pytest.fixture
def own_token() -> str | None:
    """The operator's token; where it is None, whoever is on this machine needs none."""
    return OWN_TOKEN


@pytest.fixture
def visit(
    converter: Converter, kept_since: dict[str, datetime], own_token: str | None
) -> Iterator[Callable[..., TestClient]]:
    """Make the browser of somebody who comes to the converter, a walk-in unless told otherwise."""
    options = ApiOptions(
        host="127.0.0.1",
        token=own_token,
        walk_ins=True,
        body_limits={"/api/upload": 2**40},
        not_yours=CODES.codes[FORBIDDEN],
    )
    api = create_api(converter.app, options=options)
    served = Served(
        converter.app,
        converter.conversions,
        attempts=ATTEMPTS,
        mappings=("text", "layout", "raw"),
        max_bytes=MAX_BYTES,
        kept_since=lambda: kept_since["then"],
    )
    api.include_router(routes_of(served))

    def one(token: str | None = None) -> TestClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        here = ("127.0.0.1", 50_000)
        made = TestClient(api, base_url="http://127.0.0.1", client=here, headers=headers)
        return on_loop(made, loop)

    with start_blocking_portal() as loop:
        yield one
    api.state.replays.stop()
