"""Answers of HTTP/1.1, read in the one way that everybody reads them, or not at all."""

import asyncio

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.gateway_answer import BadAnswer, head_of
from converter.gateway_connection import Patience
from converter.gateway_wire import Answer

PATIENCE = Patience(60.0, 60.0)


class Wired:
    """A connection that brings these bytes in these parts, then ends."""

    def __init__(self, *parts):
        self._parts = [part for part in parts if part]

    async def receive(self, _patience, **_):
        return self._parts.pop(0) if self._parts else b""


def body_of(received, *, step=None):
    """Read a whole answer, at once or in parts, and tell whether its connection may be kept."""
    head, rest = received.split(b"\r\n\r\n", 1)
    came_with_head = rest if step is None else b""
    later = [] if step is None else [rest[n : n + step] for n in range(0, len(rest), step)]
    answer = Answer(head_of(head), Wired(*later), came_with_head, PATIENCE)

    async def read():
        body = b""
        while part := await answer.read():
            body += part
        return body

    return asyncio.run(read()), answer.is_clean


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("step", [None, 1, 3])
@pytest.mark.parametrize(
    ("received", "body", "clean"),
    [
        (OK + b"Content-Length: 4\r\n\r\n<a/>", b"<a/>", True),
        (OK + b"Content-Length: 0\r\n\r\n", b"", True),
        (OK + b"content-length: 4, 4\r\n\r\n<a/>", b"<a/>", True),
        (OK + b"Content-Length: 4\r\nConnection: Close\r\n\r\n<a/>", b"<a/>", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n<a/>", b"<a/>", False),
        (OK + b"\r\n<a/>", b"<a/>", False),
        (CHUNKED + b"2\r\n<a\r\n2;x=y\r\n/>\r\n0\r\n\r\n", b"<a/>", True),
        (CHUNKED + b"0004\r\n<a/>\r\n0\r\nX-Sum: 1\r\n\r\n", b"<a/>", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", b"", True),
    ],
)
def test_a_body_ends_where_the_head_says(received, body, clean, step):
    assert body_of(received, step=step) == (body, clean)


@pytest.mark.parametrize(
    "received",
    [
        OK + b"Content-Length: 5\r\n\r\n<a/>",
        CHUNKED + b"4\r\n<a/>\r\n",
        CHUNKED + b"4\r\n<a/>x\r\n0\r\n\r\n",
        CHUNKED + b"4\n<a/>\n0\n\n",
        CHUNKED + b"0x4\r\n<a/>\r\n0\r\n\r\n",
        CHUNKED + b"-4\r\n<a/>\r\n0\r\n\r\n",
        CHUNKED + b"\r\n<a/>\r\n0\r\n\r\n",
        CHUNKED + b"f" * 16 + b"\r\n<a/>\r\n0\r\n\r\n",
        CHUNKED + b"4" + b";" * 5000,
    ],
)
def test_a_body_that_breaks_off_or_lies_about_its_length_is_refused(received):
    with pytest.raises(BadAnswer):
        body_of(received)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/2 200 OK",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1  200 OK",
        b"ICY 200 OK",
        b"HTTP/1.1 200 OK\nContent-Length: 4",
        OK + b"Content-Length : 4",
        OK + b"A: b\r\n folded: c",
        OK + b"A: b\x00c",
        OK + b"A: b\rc",
        OK + b": nameless",
        OK + b"no colon",
        OK + b"Content-Length: +4",
        OK + b"Content-Length: 0x4",
        OK + b"Content-Length: 4, 5",
        OK + b"Content-Length: ",
        OK + b"Content-Length: 4\r\nContent-Length: 5",
        OK + b"Content-Length: " + b"9" * 16,
        OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        OK + b"Transfer-Encoding: gzip, chunked",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(head):
    with pytest.raises(BadAnswer):
        head_of(head)


lines = st.lists(
    st.sampled_from(
        [
            b"Content-Length: 4",
            b"Content-Length: 2",
            b"content-length:  4 ",
            b"Content-Length: 4, 4",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: identity",
            b"Connection: close",
            b"Connection: keep-alive",
            b"X: \xff",
            b"X:",
            b" folded",
            b"X : y",
            b"X\ty: z",
        ]
    ),
    max_size=4,
)
bodies = st.lists(
    st.sampled_from([b"2\r\n<a\r\n", b"2\r\n/>\r\n", b"0\r\n\r\n", b"<a/>", b"4;x\r\n<a/>\r\n"]),
    max_size=4,
).map(b"".join)
first_lines = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.1 200", b"HTTP/1.0 200 OK", b"HTTP/1.1 204 ", b"HTTP/1.1 500 No"]
)


@given(first=first_lines, lines=lines, body=bodies)
def test_what_is_read_is_read_as_another_reader_does(first, lines, body):
    received = b"\r\n".join([first, *lines]) + b"\r\n\r\n" + body
    try:
        ours, clean = body_of(received)
    except BadAnswer:
        return

    theirs = h11.Connection(h11.CLIENT)
    theirs.send(h11.Request(method="POST", target="/", headers=[("host", "a")]))
    theirs.send(h11.EndOfMessage())
    theirs.receive_data(received)
    theirs.receive_data(b"")
    read = b""
    while not isinstance(event := theirs.next_event(), h11.EndOfMessage):
        read += bytes(event.data) if isinstance(event, h11.Data) else b""
    assert ours == read
    if clean:
        assert theirs.their_state is h11.DONE
        assert not theirs.trailing_data[0]
