"""Clients that hold connections without using them are let go, so that they starve nobody.

uvicorn waits for the head of a request, and for a client to read its answer, as long as the client
likes. Here both have a limit, and so has the number of connections: beyond it the one that has
waited longest for its client to say something makes room.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holdfast.api.options import ApiOptions
from holdfast.api.problems import MEDIA_TYPE, RETRY_AFTER_S, Problem, document_of

HEAD_BYTES: Final = 32 * 1024
"""How large the head of a request may be."""
_HEAD_TOO_LARGE: Final = 431


def patient_http(options: ApiOptions) -> type[H11Protocol]:
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


class _PatientHttp(H11Protocol):
    header_s: float
    write_s: float
    max_connections: int

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - what uvicorn gives
        super().__init__(*given, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self.waits_since = self.loop.time()

    @property
    def waits(self) -> bool:
        """Tell whether the client has yet to finish the head of a request."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
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
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if not self.waits and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_response_complete(self) -> None:
        # What is left of a body that nobody read counts as part of the wait, however it trickles.
        self._wait_for_head(self.timeout_keep_alive + self.header_s)
        super().on_response_complete()

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
        """Answer what is not HTTP, or has too large a head."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        error = sys.exc_info()[1]
        if (
            isinstance(error, h11.RemoteProtocolError)
            and error.error_status_hint == _HEAD_TOO_LARGE
        ):
            detail = f"send a head of at most {HEAD_BYTES} bytes: fewer or shorter headers"
            self._refuse(Problem("head_too_large", detail))
        else:
            self._refuse(Problem("malformed_request", "send HTTP/1.1 as RFC 9112 has it"))

    def _wait_for_head(self, seconds: float) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self.waits_since = self.loop.time()
        self._head_timer = self.loop.call_later(seconds, self.transport.abort)

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
        document = document_of(problem, instance="/", request_id="", root="")
        body = json.dumps(document).encode()
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *((name.lower().encode(), text.encode()) for name, text in problem.headers.items()),
        ]
        events = (
            h11.Response(status_code=problem.kind.status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
