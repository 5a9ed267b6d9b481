"""What browsers look at: a console over a socket, jobs behind it, and a worker when wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

from holdfast import Breaker, GiveUp, Holdfast, Pipeline, Retry, Upstream
from holdfast.api import ApiOptions, Server, create_api
from holdfast.console import mount_console
from holdfast.testing import ManualClock
from holdfast.workers import Worker, WorkerOptions
from tests.engine.mailbox import NEITHER, Mailbox

OPTIONS = WorkerOptions(concurrency=4, lease=10, grace=5)
PATIENCE_S = 30.0


class Stage:
    """The application, its console and its worker; `down` makes the gateway refuse."""

    def __init__(self, database_url: str) -> None:
        self.down = threading.Event()
        mailbox = Mailbox(ManualClock(), NEITHER)
        self.app = Holdfast(database_url, pipelines=[self._pipeline()], providers=[mailbox])
        self.api = create_api(self.app, options=ApiOptions(host="127.0.0.1"))
        mount_console(self.api, self.app)
        self._server = Server(self.api, host="127.0.0.1", port=0)
        self._server.start()
        self._worker: Worker | None = None

    @property
    def address(self) -> str:
        return self._server.address

    def _pipeline(self) -> Pipeline:
        made = Pipeline("convert", queue="documents", retry=Retry(attempts=1, base=1))
        gateway = Upstream("gateway", breaker=Breaker(consecutive=100, minimum_workers=1))

        @made.stage
        def fetch(job, n: int) -> int:
            return n

        @made.stage(calls=gateway)
        def to_xml(job, n: int) -> str:
            if self.down.is_set():
                raise GiveUp("GATEWAY_DOWN", f"no answer for document {n}")
            return f"<document>{n}</document>"

        return made

    def work(self) -> None:
        """Have a worker run."""
        self._worker = self.app.worker(options=OPTIONS)
        self._worker.start()

    def dead(self, count: int) -> list[str]:
        """Jobs that died while the gateway was down; it is up afterwards."""
        self.down.set()
        ids = [self.app.submit("convert", {"n": n}, key=f"document-{n}").id for n in range(count)]
        self.until(lambda: all(self.app.job(job).state == "failed" for job in ids))
        self.down.clear()
        return ids

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to hold."""
        given_up_at = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < given_up_at, "it has not come about in time"
            sleep(0.02)

    def close(self) -> None:
        self._server.request_stop()
        if self._worker is not None:
            self._worker.request_stop()
            self._worker.drain()
        self._server.wait(10)
        self.api.state.replays.stop()
        self.app.close()
