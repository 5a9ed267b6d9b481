"""Collabiq's routes on databases of both kinds, as whoever a test needs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from apps.collabiq.tests.running import System, running
from collabiq.http.routes import routes_of
from collabiq.system import BODY_LIMITS
from holdfast.api import ApiOptions, create_api
from holdfast.api.events.hub import hub_of
from tests.api.clients import on_loop
from tests.api.event_client import waited

ORIGIN = "http://127.0.0.1"
OWN_TOKEN = "an-operators-own-token-of-enough-length"


@pytest.fixture
def system(database_url: str, tmp_path: Path) -> Iterator[System]:
    with running(database_url, tmp_path) as made:
        yield made


@pytest.fixture
def visit(system: System) -> Iterator[Callable[..., TestClient]]:
    """Make the client of somebody: a stranger, or the bearer of a token of a role and an owner."""
    options = ApiOptions(host="127.0.0.1", token=OWN_TOKEN, body_limits=BODY_LIMITS)
    api = create_api(system.engine, options=options)
    api.include_router(routes_of(system.collabiq))
    made: list[TestClient] = []

    def one(role: str | None = None, owner: str | None = None) -> TestClient:
        headers = {}
        if role is not None:
            name = f"{role}-{owner}-{len(made)}"
            _, secret = system.engine.tokens.create(name, role=role, owner=owner, by="test")
            headers["Authorization"] = f"Bearer {secret}"
        client = TestClient(api, base_url=ORIGIN, client=("127.0.0.1", 50_000), headers=headers)
        made.append(client)
        return on_loop(client, loop)

    with start_blocking_portal() as loop:
        yield one
    api.state.replays.stop()
    hub_of(api).close()
    assert waited(lambda: not hub_of(api).reads)
