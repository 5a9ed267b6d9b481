"""Clients that send files and look what becomes of them."""

import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from bench.server import TOKEN

BOUNDARY = "bench-boundary"
CHUNK = 256 * 1024


class Client:
    """One connection, kept open."""

    def __init__(self, address: str, *, token: str = TOKEN, timeout_s: float = 60.0) -> None:
        self._authority = {"Authorization": f"Bearer {token}"}
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=timeout_s)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        headers = {**self._authority, "Content-Type": "application/json"}
        return self._answered(method, path, text, headers)

    def send(self, pdf: bytes, *, name: str) -> tuple[int, Any]:
        body = _head(name) + pdf + _tail()
        return self._sent(body, len(body))

    def send_large(self, size: int) -> tuple[int, Any]:
        """Send a file of that size, which is never whole in this process either."""
        head, tail = _head("large.pdf"), _tail()
        return self._sent(_parts(head, size, tail), len(head) + size + len(tail))

    def close(self) -> None:
        self._connection.close()

    def _sent(self, body: bytes | Iterable[bytes], length: int) -> tuple[int, Any]:
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        headers = {**self._authority, "Content-Type": kind, "Content-Length": str(length)}
        return self._answered("POST", "/api/upload", body, headers)

    def _answered(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        read = answer.read()
        return answer.status, json.loads(read) if read else None


def send_all(address: str, pdfs: Iterable[bytes], *, clients: int) -> tuple[list[int], list[Any]]:
    """Send files by so many clients at once; return how long each took, and what was refused."""
    waiting: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    for number, pdf in enumerate(pdfs):
        waiting.put((number, pdf))
    waits_ns: list[int] = []
    refused: list[Any] = []

    def work() -> None:
        client = Client(address)
        while True:
            try:
                number, pdf = waiting.get_nowait()
            except queue.Empty:
                break
            began_ns = time.perf_counter_ns()
            status, said = client.send(pdf, name=f"{number}.pdf")
            waits_ns.append(time.perf_counter_ns() - began_ns)
            if status != http.client.CREATED:
                refused.append(said)
        client.close()

    side_by_side(work, clients)
    return waits_ns, refused


def side_by_side(work: Callable[[], None], count: int) -> None:
    """Run the same in so many threads, to the end."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _head(name: str) -> bytes:
    return (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="mapping"\r\n\r\ntext\r\n'
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/pdf\r\n\r\n"
    ).encode()


def _tail() -> bytes:
    return f"\r\n--{BOUNDARY}--\r\n".encode()


def _parts(head: bytes, size: int, tail: bytes) -> Iterator[bytes]:
    yield head
    left = size
    first = b"%PDF-1.7\n"
    yield first
    left -= len(first)
    while left > 0:
        yield b"x" * min(left, CHUNK)
        left -= CHUNK
    yield tail
