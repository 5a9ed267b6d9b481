"""Grading's routes on databases of both kinds, as learners, teachers, operators and graders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from apps.grading.tests.sides import Main, made_main
from grading.audio import AudioStore
from grading.http.routes import routes_of
from grading.http.serving import Served
from grading.tables.times import from_us
from holdfast.api import ApiOptions, create_api
from holdfast.testing import ManualClock
from tests.api.clients import on_loop

MAX_BYTES = 400_000
OWN_TOKEN = "an-operators-own-token-of-enough-length"
ORIGIN = "http://127.0.0.1"


@pytest.fixture
def settings() -> dict[str, Any]:
    """What a test sets for main besides the usual."""
    return {}


@pytest.fixture
def main(database_url: str, clock: ManualClock, settings: dict[str, Any]) -> Iterator[Main]:
    with made_main(database_url, clock=clock, public_url=ORIGIN, **settings) as made:
        yield made


def served_by(main: Main, files: AudioStore) -> Served:
    """Return what the routes go by."""
    return Served(
        main.app,
        main.submissions,
        main.side.callbacks,
        main.side.questions,
        files,
        main.side.recordings,
        now=lambda: from_us(main.app.clock.now()),
        max_audio_bytes=MAX_BYTES,
        max_audio_s=600.0,
        reviews=True,
    )


@pytest.fixture
def walk_ins() -> bool:
    """Whether people without credentials are let in."""
    return True


@pytest.fixture
def files(tmp_path: Path) -> AudioStore:
    """Where recordings are kept."""
    return AudioStore(tmp_path / "audio", max_bytes=MAX_BYTES)


@pytest.fixture
def visit(main: Main, files: AudioStore, *, walk_ins: bool) -> Iterator[Callable[..., TestClient]]:
    """Make the client of somebody: a walk-in, or the bearer of a token of a role and an owner."""
    options = ApiOptions(
        host="127.0.0.1", token=OWN_TOKEN, walk_ins=walk_ins, body_limits={"/api/audio": 2**40}
    )
    api = create_api(main.app, options=options)
    api.include_router(routes_of(served_by(main, files)))
    made: list[TestClient] = []

    def one(
        role: str | None = None, owner: str | None = None, *, may: tuple[str, ...] = ()
    ) -> TestClient:
        headers = {}
        if role is not None:
            _, secret = main.app.tokens.create(
                f"{role}-{owner}-{len(made)}", role=role, owner=owner, permissions=may, by="test"
            )
            headers["Authorization"] = f"Bearer {secret}"
        client = TestClient(api, base_url=ORIGIN, client=("127.0.0.1", 50_000), headers=headers)
        made.append(client)
        return on_loop(client, loop)

    with start_blocking_portal() as loop:
        yield one
    api.state.replays.stop()
