"""Loopback ports for servers that a test starts, stops and starts again."""

import random
import socket
from contextlib import closing
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LOWEST = 15_000
_DEFAULT_EPHEMERAL_START = 32_768
_ATTEMPTS = 200


def free_port() -> int:
    """A loopback port nobody listens on, outside the range of outgoing connections.

    An ephemeral port would do until the server restarts: then a client that retries against it
    can be given that very port as its own and connect to itself.
    """
    chance = random.SystemRandom()
    for _ in range(_ATTEMPTS):
        port = chance.randrange(_LOWEST, _ephemeral_start())
        if _is_free(port):
            return port
    raise OSError(f"no free port on {LOOPBACK} between {_LOWEST} and {_ephemeral_start()}")


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _ephemeral_start() -> int:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    except OSError:
        return _DEFAULT_EPHEMERAL_START
    start = int(text.split()[0])
    return start if start > _LOWEST + _ATTEMPTS else _DEFAULT_EPHEMERAL_START
