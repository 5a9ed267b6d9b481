"""Clients of an API that is served inside the test."""

from __future__ import annotations

from anyio.from_thread import BlockingPortal
from fastapi import FastAPI
from starlette.testclient import TestClient


def on_loop(client: TestClient, loop: BlockingPortal) -> TestClient:
    """Have a client use an event loop that is there, instead of a new one for every request."""
    client.portal = loop
    return client


def client_of(api: FastAPI, *, token: str | None = None, host: str = "127.0.0.1") -> TestClient:
    """Return a client on this machine; with a token it sends it with every request."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return TestClient(
        api,
        base_url=f"http://{host}",
        client=("127.0.0.1", 50_000),
        headers=headers,
        raise_server_exceptions=False,
        follow_redirects=False,
    )
