"""An application that gets into trouble when told to: what operators are called for."""

from __future__ import annotations

import io
from collections.abc import Callable
from email.message import Message
from time import monotonic, sleep
from typing import Final
from urllib.error import HTTPError

from holdfast import Breaker, Holdfast, Pipeline, Retry, Submit, Upstream
from holdfast.api import ApiOptions, Server, create_api
from holdfast.console import mount_console
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.deliveries import Notify
from holdfast.runtime.kernel.clock import monotonic_s, wall_clock
from holdfast.store.contract import WorkerRow
from holdfast.testing import ManualClock
from holdfast.workers import Worker, WorkerOptions
from tests.engine.mailbox import NEITHER, Mailbox

OPTIONS: Final = WorkerOptions(concurrency=4, lease=10, grace=5)
PATIENCE_S: Final = 50.0
HELD: Final = 20
ANSWERS: Final = {"denied": (401, "Unauthorized"), "down": (503, "Service Unavailable")}


class ShiftedClock:
    """The time of day, and as much later as a test wants it to be."""

    def __init__(self) -> None:
        self._ahead_us = 0

    def now(self) -> Instant:
        return Instant(wall_clock() + self._ahead_us)

    def instant_of(self, reading_s: float) -> Instant:
        return Instant(self.now() - round((monotonic_s() - reading_s) * SECOND_US))

    def learn(self) -> None:
        """Follow nobody."""

    def steady_for(self, span_us: int) -> bool:
        del span_us
        return True

    def advance(self, seconds: float) -> None:
        self._ahead_us += round(seconds * SECOND_US)


class Shop:
    """The application, its console and its worker."""

    current: Shop

    def __init__(self, database_url: str) -> None:
        self.ledger = "healthy"
        self.clock = ShiftedClock()
        self.mailbox = Mailbox(ManualClock(), NEITHER)
        self._url = database_url
        self.app = self.open()
        self.api = create_api(self.app, options=ApiOptions(host="127.0.0.1"))
        mount_console(self.api, self.app)
        self._server = Server(self.api, host="127.0.0.1", port=0)
        self._server.start()
        self._worker: Worker | None = None
        Shop.current = self

    @property
    def address(self) -> str:
        return self._server.address

    def open(self) -> Holdfast:
        """Return an application on the same database, by the same clock."""
        return Holdfast(
            self._url, pipelines=self._pipelines(), providers=[self.mailbox], clock=self.clock
        )

    def _pipelines(self) -> list[Pipeline]:
        breaker = Breaker(consecutive=4, cooldown=60, minimum_workers=1)
        ledger = Upstream("ledger", retry=Retry(attempts=3, base=1), breaker=breaker)
        invoices = Pipeline("invoices", queue="billing")

        @invoices.stage(calls=ledger)
        def book(job, amount: int | None = None) -> int:
            status, line = ANSWERS.get(self.ledger, (422, "Unprocessable Entity"))
            if self.ledger != "healthy" or amount is None:
                body = io.BytesIO(b'{"error": "refused"}')
                raise HTTPError("http://ledger.test/book", status, line, Message(), body)
            return amount

        notices = Pipeline("notices", queue="mail")
        notices.stage(name="send")(
            lambda job: Notify(subject=job.id, recipients=["jane@example.test"])
        )
        reports = Pipeline("reports", queue="reports")
        reports.stage(name="draw")(lambda _job: None)
        return [invoices, notices, reports]

    def work(self) -> None:
        """Have a worker run."""
        self._worker = self.app.worker(options=OPTIONS)
        self._worker.start()

    def dead_credential(self, letters: int = 3, *, bad: int = -1) -> None:
        """Have jobs die of a credential that is not taken; the payload at `bad` is a bad one."""
        self.ledger = "denied"
        self.work()
        payloads: list[dict[str, int | None]] = [{"amount": n} for n in range(letters)]
        payloads[bad] = {"amount": None}
        self.app.submit_many(
            "invoices", [Submit(payload=each, key=f"i-{n}") for n, each in enumerate(payloads)]
        )
        self.until(lambda: self.app.store.letters.standing().waiting == letters)

    def upstream_down(self) -> None:
        self.ledger = "down"
        self.work()
        self.app.submit_many("invoices", [{"amount": n} for n in range(HELD)])
        self.until(lambda: any(each.gate.value == "open" for each in self.app.upstreams.list()))
        self.until(lambda: sum(each.due for each in self.app.queues()) == HELD)

    def delivery_in_doubt(self) -> None:
        self.mailbox.next.append("accepted, no answer")
        self.work()
        job = self.app.submit("notices", key="n-1").id
        self.until(lambda: self.app.job(job).state == "failed")

    def paused_queue(self) -> None:
        self.work()
        self.app.pause_queue("reports", by="ada", reason="the printer is moved")
        self.app.submit_many("reports", [{} for _ in range(488)])

    def dead_worker(self) -> None:
        """Leave what a worker leaves that was killed while it ran a job."""
        now = self.clock.now()
        row = WorkerRow(WorkerId("host-7-lost"), "host", 7, now, now, '["reports"]', 4, "running")
        self.app.store.record_worker(row)
        self.app.submit("reports")
        route = Route("reports", "reports", "draw")
        self.app.store.claim(
            [route], limit=1, holder=row.id, lease_us=30 * SECOND_US, now=self.clock.now()
        )
        self.clock.advance(90)

    def stuck_outbox(self) -> None:
        for n in range(2):
            self.app.publish("invoice.booked", {"n": n}, aggregate_id=f"invoice-{n}")
        self.clock.advance(90)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to hold."""
        given_up_at = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < given_up_at, "it has not come about in time"
            sleep(0.05)

    def close(self) -> None:
        self._server.request_stop()
        if self._worker is not None:
            self._worker.request_stop()
            self._worker.drain()
        self._server.wait(10)
        self.api.state.replays.stop()
        self.app.close()


def opened() -> Holdfast:
    """Return an application for a command, which closes it."""
    return Shop.current.open()
