"""How much, how slowly and over how many connections a client may send: over real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from contextlib import ExitStack, suppress

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse

from holdfast.api import ApiOptions, create_api
from holdfast.api.middleware.body_limit import BodyLimits
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from tests.api.server.wire import (
    PATIENCE_S,
    answered,
    answers_with,
    connected,
    hangs_up_within,
    head,
    served,
)

SMALL = ApiOptions(host="127.0.0.1", max_body_bytes=1000)
# Each is short in the one thing that a test is about: a busy machine is slow in all others.
SHORT_HEAD = ApiOptions(host="127.0.0.1", header_s=0.4)
SHORT_BODY = ApiOptions(host="127.0.0.1", body_s=0.4)
SHORT_WRITE = ApiOptions(host="127.0.0.1", write_s=0.6)
SHORT_REST = ApiOptions(host="127.0.0.1", keep_alive_s=1, header_s=2)


def problem_in(answer: bytes) -> tuple[int, str]:
    """Return status and code of an answer."""
    heading, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in heading
    return int(heading.split(b" ")[1]), json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])[
        "code"
    ]


async def reading(scope, receive, send):
    """An application that reads the body in the way that its path says."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    request = Request(scope, receive)
    if scope["path"] == "/careless":
        with suppress(Exception):
            await request.body()
        await PlainTextResponse("whatever")(scope, receive, send)
    elif scope["path"] == "/late":
        await request.body()
        names = [name.decode() for name, _ in scope["headers"]]
        await PlainTextResponse(" ".join(names))(scope, receive, send)
    elif scope["path"] == "/unread":
        await PlainTextResponse("unread")(scope, receive, send)
    elif scope["path"] == "/endless":
        chunks = (b"x" * 65_536 for _ in range(1_000_000))
        await StreamingResponse(chunks)(scope, receive, send)
    else:
        size = len(await request.body())
        await PlainTextResponse(str(size))(scope, receive, send)


def limited(options):
    """Serve `reading` behind the limits of `options`."""
    return served(BodyLimits(reading, options=options), options=options)


@pytest.fixture(scope="module")
def small():
    """A server that takes little at a time, and has patience."""
    with limited(SMALL) as server:
        yield server


@pytest.fixture(scope="module")
def api_server(steady_app):
    """A server of the whole API."""
    with served(create_api(steady_app, options=SMALL), options=SMALL) as server:
        yield server


def test_a_body_of_just_the_limit_is_taken(small):
    with connected(small) as connection:
        connection.sendall(head("POST", "/", Content_Length="1000", Connection="close"))
        connection.sendall(b"x" * 1000)

        assert answered(connection).endswith(b"1000")


@pytest.mark.parametrize("path", ["/", "/careless", "/unread"])
def test_a_body_that_says_that_it_is_too_large_is_refused_unread(small, path):
    with connected(small) as connection:
        connection.sendall(head("POST", path, Content_Length="1001"))

        assert problem_in(answered(connection)) == (413, "body_too_large")


@pytest.mark.parametrize("path", ["/", "/careless"])
def test_a_body_that_does_not_say_how_large_it_is_is_counted(small, path):
    with connected(small) as connection:
        connection.sendall(head("POST", path, Transfer_Encoding="chunked"))
        for _ in range(11):
            connection.sendall(b"64\r\n" + b"x" * 100 + b"\r\n")

        assert problem_in(answered(connection)) == (413, "body_too_large")


def test_a_path_can_have_a_limit_of_its_own():
    options = ApiOptions(max_body_bytes=10, body_limits={"/up": 100, "/up/more": 1000})
    with served(BodyLimits(reading, options=options)) as server:
        for path, limit in (("/", 10), ("/up/x", 100), ("/up/more/x", 1000)):
            for size, status in ((limit, b"200"), (limit + 1, b"413")):
                with connected(server) as connection:
                    connection.sendall(
                        head("POST", path, Content_Length=str(size), Connection="close")
                        + b"x" * size
                    )
                    assert answered(connection).split(b" ")[1] == status


def test_a_body_that_trickles_is_cut_off():
    with limited(SHORT_BODY) as server, connected(server) as connection:
        connection.sendall(head("POST", "/", Content_Length="900"))
        with suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"x")
                sleep_s(0.02)

        assert problem_in(answered(connection)) == (408, "body_too_slow")


def test_a_body_that_nobody_reads_holds_no_connection_open():
    with limited(SHORT_REST) as server, connected(server) as connection:
        connection.sendall(head("POST", "/unread", Content_Length="900"))
        until_s = monotonic_s() + PATIENCE_S
        assert answers_with(connection, b"unread")
        with suppress(ConnectionError):
            while monotonic_s() < until_s:
                connection.sendall(b"x")
                sleep_s(0.05)

        assert monotonic_s() < until_s


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
def test_a_head_that_is_never_finished_is_not_waited_for(sent):
    with limited(SHORT_HEAD) as server, connected(server) as connection:
        connection.sendall(sent)

        assert hangs_up_within(connection, PATIENCE_S)


def test_a_head_that_trickles_is_cut_off():
    with limited(SHORT_HEAD) as server, connected(server) as connection:
        until_s = monotonic_s() + PATIENCE_S
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with suppress(ConnectionError):
            while monotonic_s() < until_s:
                connection.sendall(b"X-More: x\r\n")
                sleep_s(0.02)

        assert monotonic_s() < until_s


def test_a_client_that_does_not_read_its_answer_is_let_go():
    with limited(SHORT_WRITE) as server, connected(server) as connection:
        connection.sendall(head("GET", "/endless"))
        sleep_s(SHORT_WRITE.write_s)
        until_s = monotonic_s() + PATIENCE_S
        got = 0
        with suppress(ConnectionError):
            # What is in the buffers of both sides still comes, then the end.
            while monotonic_s() < until_s and (part := connection.recv(1 << 20)):
                got += len(part)
                sleep_s(0.2)

        assert monotonic_s() < until_s


def test_what_is_not_http_is_answered_with_a_problem(api_server):
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"nonsense\r\n\r\n",
        head("DROP", "/livez"),
    ):
        with connected(api_server) as connection:
            connection.sendall(sent)
            assert problem_in(answered(connection)) == (400, "malformed_request")


@pytest.mark.parametrize("ending", [b"", b"\r\n\r\n"], ids=["unfinished", "complete"])
def test_a_head_that_is_too_large_is_refused(api_server, ending):
    with connected(api_server) as connection:
        connection.sendall(head("GET", "/livez", X_Large="x" * 40_000).rstrip() + ending)

        assert problem_in(answered(connection)) == (431, "head_too_large")


def test_many_headers_count_as_one_large_head(api_server):
    more = {f"X_{number}": "x" * 1_000 for number in range(40)}
    with connected(api_server) as connection:
        for part in head("GET", "/livez", **more).split(b"x" * 1_000):
            with suppress(ConnectionError):
                connection.sendall(part + b"x" * 1_000)

        assert problem_in(answered(connection)) == (431, "head_too_large")


@pytest.mark.parametrize("endless", [b"0\r\nX-Late: ", b"5;"], ids=["trailer", "extension"])
def test_what_is_no_part_of_a_body_is_not_taken_without_end(small, endless):
    with connected(small) as connection:
        connection.sendall(head("POST", "/", Transfer_Encoding="chunked") + endless)
        with suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"x" * 1_000)
                sleep_s(0.001)

        assert problem_in(answered(connection)) == (431, "head_too_large")


def test_what_follows_a_body_is_no_header(small):
    with connected(small) as connection:
        connection.sendall(
            head("POST", "/late", Transfer_Encoding="chunked", Connection="close")
            + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
        )

        answer = answered(connection)

    assert answer.endswith(b"host transfer-encoding connection")


@pytest.mark.parametrize(
    "twice", [{"Content_Length": "5", "Transfer_Encoding": "chunked"}, {"Content_Length": "5, 6"}]
)
def test_a_body_of_two_lengths_is_refused(small, twice):
    with connected(small) as connection:
        connection.sendall(head("POST", "/", **twice) + b"0\r\n\r\n")

        assert problem_in(answered(connection)) == (400, "malformed_request")


def test_nonsense_behind_a_request_does_not_take_its_answer_away(small):
    with connected(small) as connection:
        connection.sendall(head("GET", "/unread") + b"nonsense\r\n\r\n")

        answer = answered(connection)

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"unread")


def test_a_wish_for_another_protocol_is_answered_as_if_there_were_none(small):
    with connected(small) as connection:
        connection.sendall(head("GET", "/unread", Connection="Upgrade", Upgrade="websocket"))

        answer = answered(connection)

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"unread")


def test_a_client_that_left_is_noticed_also_with_a_request_behind_the_one_that_is_answered():
    begun, gone = threading.Event(), threading.Event()

    async def watching(scope, receive, send):
        if scope["type"] != "http":
            await reading(scope, receive, send)
            return
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    with served(watching) as server:
        with connected(server) as connection:
            connection.sendall(head("GET", "/one") + head("GET", "/two"))
            assert begun.wait(PATIENCE_S)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        assert gone.wait(PATIENCE_S)


def test_five_hundred_half_open_requests_keep_nobody_from_an_answer(steady_app):
    options = ApiOptions(host="127.0.0.1", header_s=60, max_connections=100)
    with (
        served(create_api(steady_app, options=options), options=options) as server,
        ExitStack() as all_open,
    ):
        half_open = []
        for _ in range(500):
            connection = all_open.enter_context(connected(server))
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
            half_open.append(connection)

        took_s = []
        for _ in range(5):
            began_s = monotonic_s()
            with connected(server) as connection:
                connection.sendall(head("GET", "/readyz", Connection="close"))
                assert answered(connection).startswith(b"HTTP/1.1 200")
            took_s.append(monotonic_s() - began_s)

        # The best of some: the machine may be busy with something else.
        assert min(took_s) < 1
        # Those that had waited longest made room; the latest still wait.
        assert all(hangs_up_within(gone, PATIENCE_S) for gone in half_open[:300:50])
        assert not hangs_up_within(half_open[-1], 0.1)


def test_requests_that_take_their_time_are_not_taken_for_slow_clients():
    async def slow(scope, receive, send):
        if scope["type"] == "http":
            await asyncio.sleep(1.5)
            await PlainTextResponse(scope["path"])(scope, receive, send)
        else:
            await reading(scope, receive, send)

    options = ApiOptions(keep_alive_s=1, header_s=1)
    with served(slow, options=options) as server, connected(server) as connection:
        connection.sendall(head("GET", "/one") + head("GET", "/two", Connection="close"))

        answer = answered(connection)

    assert answer.count(b"HTTP/1.1 200") == 2
    assert answer.index(b"/one") < answer.index(b"/two")


def test_a_connection_that_is_in_use_is_not_taken_away(steady_app):
    options = ApiOptions(host="127.0.0.1", max_connections=2)
    release, entered = threading.Event(), threading.Semaphore(0)

    async def slow(scope, receive, send):
        if scope["type"] == "http":
            if scope["path"] == "/slow":
                entered.release()
                await asyncio.to_thread(release.wait, PATIENCE_S)
            await PlainTextResponse("done")(scope, receive, send)
        else:
            await reading(scope, receive, send)

    with served(slow, options=options) as server, ExitStack() as all_open:
        try:
            used = [all_open.enter_context(connected(server)) for _ in range(2)]
            for connection in used:
                connection.sendall(head("GET", "/slow", Connection="close"))
            assert all(entered.acquire(timeout=PATIENCE_S) for _ in used)
            with connected(server) as one_more:
                refused = answered(one_more)
        finally:
            release.set()

        assert problem_in(refused) == (503, "too_many_connections")
        assert all(answered(connection).endswith(b"done") for connection in used)
