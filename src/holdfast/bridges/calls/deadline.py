"""One limit for a whole call: name, connection, TLS, request and answer together.

Timeouts of clients count from the last byte, so that a peer that sends one byte a second holds a
caller for as long as it likes. A call that outlives its limit may outlive its lease as well.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

from holdfast.runtime.kernel.clock import monotonic_s

Address: TypeAlias = tuple[Any, ...]
"""What a socket connects to; its first member is the IP address as text."""

_NUMERIC: Final = socket.AI_NUMERICHOST


class Deadline:
    """The instant by which a call has ended, one way or the other."""

    def __init__(self, timeout_s: float) -> None:
        self._ends_at_s = monotonic_s() + timeout_s

    def left_s(self) -> float:
        """Return the seconds that are left; TimeoutError when there are none."""
        left_s = self._ends_at_s - monotonic_s()
        if left_s <= 0:
            raise TimeoutError("the time for the whole call is up")
        return left_s


def connect(
    host: str,
    port: int,
    *,
    deadline: Deadline,
    admit: Callable[[list[str]], None] = lambda _: None,
) -> socket.socket:
    """Return a connection to the first address of the host that accepts one.

    `admit` is shown the addresses that the name stands for and raises when they are not to be
    called; what it saw is what is connected to. Raises TimeoutError or another OSError.
    """
    found = _resolved(host, port, deadline)
    admit([str(address[0]) for _, address in found])
    refused: OSError | None = None
    for family, address in found:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.left_s())
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            refused = error
            continue
        return connection
    raise refused or socket.gaierror(socket.EAI_NONAME, "the name stands for no address")


def _resolved(host: str, port: int, deadline: Deadline) -> list[tuple[int, Address]]:
    try:
        return _asked(host, port, _NUMERIC)
    except OSError:
        # Not an address but a name: the resolver takes no limit, so it is asked in a thread that
        # may be left behind.
        answers: SimpleQueue[list[tuple[int, Address]] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_asked(host, port, 0))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=ask, name="holdfast-resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=deadline.left_s())
    except Empty:
        raise TimeoutError(f"{host} was not resolved in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _asked(host: str, port: int, flags: int) -> list[tuple[int, Address]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a name that can exist") from error
    return [(family, address) for family, _, _, _, address in found]
