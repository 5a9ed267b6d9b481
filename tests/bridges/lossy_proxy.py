"""A TCP proxy in front of a broker that loses what the broker says, on demand."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

from holdfast.testing.servers.ports import LOOPBACK, free_port

_CHUNK = 65_536


class LossyProxy:
    """Passes everything on, until it is told to lose what comes back."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or LOOPBACK, parts.port or 5672)
        self._listener = socket.create_server((LOOPBACK, free_port()))
        login, at, _ = parts.netloc.rpartition("@")
        port = self._listener.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{login}{at}{LOOPBACK}:{port}"))
        self.lost_bytes = 0
        self._losing = threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_replies(self) -> None:
        """From now on nothing that the broker says arrives."""
        self._losing.set()

    def pass_through(self) -> None:
        """What the broker says from now on arrives."""
        self._losing.clear()

    def close(self) -> None:
        self._listener.close()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            self._sockets += [client, server]
            for pump in (self._pump_in, self._pump_back):
                threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _pump_in(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(_CHUNK):
                server.sendall(data)
        _hang_up(client, server)

    def _pump_back(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK):
                if self._losing.is_set():
                    self.lost_bytes += len(data)
                else:
                    client.sendall(data)
        _hang_up(client, server)


def _hang_up(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def lossy(url: str) -> Iterator[LossyProxy]:
    proxy = LossyProxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
