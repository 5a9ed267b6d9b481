"""Clients that hold connections without using them are let go, so that they starve nobody.

uvicorn waits for the head of a request, and for a client to read its answer, as long as the client
likes, and takes heads of any size. Here all of that has a limit, and so has the number of
connections: beyond it the one that has waited longest for its client to say something makes room.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from holdfast.api.options import ApiOptions
from holdfast.api.problems import MEDIA_TYPE, RETRY_AFTER_S, Problem, document_of
from holdfast.api.server.joined_writes import JoinedWrites

HEAD_BYTES: Final = 32 * 1024
"""How large the head of a request may be, and whatever else a client sends beside a body."""
_MALFORMED: Final = Problem("malformed_request", "send HTTP/1.1 as RFC 9112 has it")
_HEAD_TOO_LARGE: Final = Problem(
    "head_too_large", f"send a head of at most {HEAD_BYTES} bytes: fewer or shorter headers"
)


def patient_http(options: ApiOptions) -> type[HttpToolsProtocol]:
    """Return the protocol that connections are served by, with the patience of `options`."""
    return type(
        "PatientHttp",
        (_PatientHttp,),
        {
            "header_s": options.header_s,
            "write_s": options.write_s,
            "max_connections": options.max_connections,
        },
    )


class _PatientHttp(HttpToolsProtocol):
    header_s: float
    write_s: float
    max_connections: int

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - what uvicorn gives
        super().__init__(*given, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self.waits_since = self.loop.time()
        self._answering: RequestResponseCycle | None = None
        self._in_head = True
        self._has_come_on = False
        """Whether what was last received ended a head or a message, or was part of a body."""
        self._beside_body = 0
        """How many bytes were received since."""
        self._refused = False

    @property
    def waits(self) -> bool:
        """Return whether the client has yet to finish the head of a request."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport, self.loop)))
        self._wait_for_head(self.header_s)
        if len(self.connections) > self.max_connections and not self._make_room():
            self._refuse(
                Problem(
                    "too_many_connections",
                    "close connections that you do not use, and try again in a moment",
                    headers={"Retry-After": str(RETRY_AFTER_S)},
                )
            )

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timers()
        # uvicorn tells the request that came last; those before it may not be answered yet.
        _hang_up(self._answering)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._has_come_on = False
        super().data_received(data)
        self._beside_body = 0 if self._has_come_on else self._beside_body + len(data)
        if self._beside_body > HEAD_BYTES:
            self._refuse(_HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows a body is no part of the head, whatever it calls itself.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._has_come_on = False, True
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES:
            self._refuse(_HEAD_TOO_LARGE)
            return
        super().on_headers_complete()
        self._stop_waiting_for_head()

    def on_body(self, body: bytes) -> None:
        self._has_come_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_come_on = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        # What is left of a body that nobody read counts as part of the wait, however it trickles.
        self._wait_for_head(self.timeout_keep_alive + self.header_s)
        super().on_response_complete()
        self._stop_waiting_for_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words for it
        """Answer what is not HTTP."""
        self._refuse(_MALFORMED)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        # The parser has dropped what came behind the request: nothing more is taken from here.
        if not self._refused:
            self.cycle.keep_alive = False

    def _wait_for_head(self, seconds: float) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self.waits_since = self.loop.time()
        self._head_timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting_for_head(self) -> None:
        if not self.waits and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cancel_timers(self) -> None:
        for timer in (self._head_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._head_timer = self._write_timer = None

    def _make_room(self) -> bool:
        """Let the connection go that has waited longest for its client; False when all are busy."""
        waiting = [
            other
            for other in self.connections
            if isinstance(other, _PatientHttp) and other is not self and other.waits
        ]
        if not waiting:
            return False
        longest = min(waiting, key=lambda other: other.waits_since)
        self.connections.discard(longest)
        longest.transport.abort()
        return True

    def _refuse(self, problem: Problem) -> None:
        """Answer without asking the application, and hang up."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        answering = self._answering
        if answering is not None and not answering.response_complete:
            if not answering.more_body:
                # It is about a request that came ahead of the answer to this one, which is whole.
                answering.keep_alive = False
                return
            _hang_up(answering)
        if answering is None or answering.response_complete or not answering.response_started:
            self.transport.write(_answer(problem))
        self.transport.close()


def _hang_up(cycle: RequestResponseCycle | None) -> None:
    """Tell the application that the client of a request has gone."""
    if cycle is not None and not cycle.response_complete:
        cycle.disconnected = True
        cycle.message_event.set()


def _answer(problem: Problem) -> bytes:
    """Return a problem as it goes over the wire."""
    document = document_of(problem, instance="/", request_id="", root="")
    body = json.dumps(document).encode()
    headers = {
        "content-type": MEDIA_TYPE,
        "content-length": str(len(body)),
        "connection": "close",
        **{name.lower(): text for name, text in problem.headers.items()},
    }
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    return STATUS_LINE[problem.kind.status] + f"{lines}\r\n".encode() + body
