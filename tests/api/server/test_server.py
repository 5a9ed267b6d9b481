"""Serving in a thread: where it listens, how it starts and how it ends."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import suppress

import httpx2
import pytest
from starlette.responses import PlainTextResponse, StreamingResponse

from holdfast.api import ApiOptions, Server, create_api
from holdfast.errors import UsageError
from holdfast.runtime.kernel.clock import monotonic_s
from tests.api.server.wire import PATIENCE_S, answered, connected, head, served


@pytest.fixture(scope="module")
def api(steady_app):
    return create_api(steady_app, options=ApiOptions(host="127.0.0.1"))


def test_it_takes_a_free_port_and_tells_where(api):
    with served(api) as server:
        assert server.port > 0
        assert server.address == f"http://127.0.0.1:{server.port}"
        assert httpx2.get(f"{server.address}/livez").json() == {"status": "ok"}


def test_it_answers_under_ipv6_too(api):
    try:
        probe = socket.socket(socket.AF_INET6)
        probe.bind(("::1", 0))
        probe.close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    server = Server(api, "::1", 0)
    server.start()
    try:
        assert server.address == f"http://[::1]:{server.port}"
        assert httpx2.get(f"{server.address}/api/session").json()["name"] == "local"
    finally:
        server.request_stop()
        assert server.wait(PATIENCE_S)


def test_a_port_that_is_taken_is_named(api):
    with served(api) as server:
        second = Server(api, "127.0.0.1", server.port)

        with pytest.raises(UsageError, match=f"port {server.port} of 127.0.0.1 is taken"):
            second.start()


def test_an_address_that_is_not_of_this_machine_is_named(api):
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.1:8000"):
        Server(api, "192.0.2.1", 8000).start()


def test_an_application_that_cannot_start_is_an_error_of_start():
    async def broken(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no"})

    with pytest.raises(UsageError, match="did not start"):
        Server(broken).start()


def test_requests_under_way_are_answered_after_it_was_told_to_stop():
    entered, release = threading.Event(), threading.Event()

    async def slow(scope, receive, send):
        if scope["type"] != "http":
            return
        entered.set()
        await asyncio.to_thread(release.wait, PATIENCE_S)
        await PlainTextResponse("done")(scope, receive, send)

    server = Server(slow, grace_s=20)
    server.start()
    with connected(server) as connection:
        connection.sendall(head("GET", "/"))
        assert entered.wait(PATIENCE_S)

        server.request_stop()
        release.set()

        assert answered(connection).endswith(b"done")
    assert server.wait(PATIENCE_S)


def test_a_stream_that_does_not_end_by_itself_is_cut_after_the_grace(caplog):
    caplog.set_level(logging.CRITICAL, logger="uvicorn.error")

    async def endless(scope, receive, send):
        if scope["type"] != "http":
            return

        async def ticking():
            while True:
                yield b": tick\n\n"
                await asyncio.sleep(0.05)

        await StreamingResponse(ticking(), media_type="text/event-stream")(scope, receive, send)

    server = Server(endless, grace_s=1)
    server.start()
    with connected(server) as connection:
        connection.sendall(head("GET", "/"))
        assert connection.recv(10)
        began_s = monotonic_s()

        server.request_stop()
        with suppress(ConnectionError):
            while connection.recv(65_536):
                pass

    assert server.wait(PATIENCE_S)
    assert monotonic_s() - began_s < 15


def test_after_its_end_nobody_is_answered(api):
    with served(api) as server:
        address = server.address

    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/livez")


def test_stopping_drains_first(steady_app):
    api = create_api(steady_app, options=ApiOptions(host="127.0.0.1"))
    heard = []
    api.state.serving.readiness.on_drain(lambda: heard.append("drain"))
    with served(api) as server:
        server.drain()
        answer = httpx2.get(f"{server.address}/readyz?verbose")

        assert heard == ["drain"]
        assert answer.status_code == 503
        assert answer.json()["checks"]["draining"] == "this process is about to end"
        server.request_stop()

    assert heard == ["drain"]


def test_whoever_stops_it_need_not_drain_it_first(steady_app):
    api = create_api(steady_app, options=ApiOptions(host="127.0.0.1"))
    with served(api) as server:
        server.request_stop()

        assert api.state.serving.readiness.draining


def test_who_listens_late_hears_at_once_that_it_drains(api, steady_app):
    readiness = create_api(steady_app).state.serving.readiness
    heard = []
    readiness.on_drain(lambda: heard.append("early"))
    forget = readiness.on_drain(lambda: heard.append("forgotten"))
    forget()

    readiness.drain()
    readiness.on_drain(lambda: heard.append("late"))
    readiness.drain()

    assert heard == ["early", "late"]


def test_the_server_says_nothing_of_itself(api):
    with served(api) as server:
        answer = httpx2.get(f"{server.address}/livez")

    assert "server" not in answer.headers
    assert "uvicorn" not in str(dict(answer.headers))
