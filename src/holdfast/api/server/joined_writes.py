"""What is written in one turn of the loop goes to the client together.

uvicorn writes the head of an answer and its body each for itself: two packets, and a client that is
woken twice.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

AT_MOST: Final = 16 * 1024
"""From how many bytes on they are not kept any longer, so that the transport counts them."""


class JoinedWrites:
    """A transport, as far as uvicorn uses it, that collects small writes for the next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept = bytearray()
        self.abort = transport.abort
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def write(self, data: Any) -> None:  # noqa: ANN401 - whatever a transport takes
        """Have bytes sent, soon."""
        if not self._kept and len(data) < AT_MOST:
            self._loop.call_soon(self._send)
        self._kept += data
        if len(self._kept) >= AT_MOST:
            self._send()

    def close(self) -> None:
        """Send what was written, and hang up."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._kept and not self._transport.is_closing():
            kept, self._kept = self._kept, bytearray()
            self._transport.write(kept)
