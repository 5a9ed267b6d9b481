"""Server and parts in one process: they start together, and end together."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast.cli.processes.one_process import OneProcess

PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Listener:
    """A server without a network."""

    address = "http://127.0.0.1:8000"

    def __init__(self, *, stubborn: bool = False) -> None:
        self.log: list[str] = []
        self.stubborn = stubborn
        self.ended = threading.Event()

    def start(self) -> None:
        self.log.append("started")

    def request_stop(self) -> None:
        self.log.append("stopping")
        if not self.stubborn:
            self.ended.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        return self.ended.wait(timeout_s)


class Work:
    """A part that works until it is told to stop, or as long as `until` says."""

    def __init__(self, *, status: int = 0, error: Exception | None = None) -> None:
        self.running = threading.Event()
        self.stop = threading.Event()
        self.asked = 0
        self.status, self.error = status, error
        self.needs = 1

    def run(self, *, handle_signals: bool = True) -> int:
        assert not handle_signals
        self.running.set()
        assert self.stop.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        return self.status

    def request_stop(self) -> None:
        self.asked += 1
        if self.asked >= self.needs:
            self.stop.set()


def soon(act: Callable[[], object], after: threading.Event) -> None:
    """Act once something has happened."""

    def wait_and_act() -> None:
        assert after.wait(PATIENCE_S)
        act()

    threading.Thread(target=wait_and_act, daemon=True).start()


def test_a_signal_ends_everything_and_nothing_is_hurried():
    server, worker, relay = Listener(), Work(), Work()
    addresses: list[str] = []
    together = OneProcess(server, {"worker": worker, "relay": relay})
    soon(lambda: signal.raise_signal(signal.SIGTERM), after=relay.running)

    status = together.run(addresses.append)

    assert status == 0
    assert addresses == [server.address]
    assert server.log == ["started", "stopping"]
    assert (worker.asked, relay.asked) == (1, 1)


def test_a_second_signal_asks_for_haste():
    server, worker = Listener(), Work()
    worker.needs = 2
    together = OneProcess(server, {"worker": worker})

    def twice() -> None:
        together.request_stop()
        assert server.ended.wait(PATIENCE_S)
        together.request_stop()

    soon(twice, after=worker.running)

    assert together.run(lambda _: None) == 0
    assert worker.asked == 2


def test_requests_that_do_not_end_are_cut_off_when_haste_is_asked_for():
    server, worker = Listener(stubborn=True), Work()
    together = OneProcess(server, {"worker": worker}, haste_s=0.05)

    def twice() -> None:
        together.request_stop()
        assert worker.stop.wait(PATIENCE_S)
        together.request_stop()

    soon(twice, after=worker.running)

    assert together.run(lambda _: None) == 1


def test_requests_that_last_longer_than_the_grace_are_no_clean_end():
    server, worker = Listener(stubborn=True), Work()
    together = OneProcess(server, {"worker": worker}, grace_s=0.05)
    soon(together.request_stop, after=worker.running)
    soon(lambda: (time.sleep(0.2), server.ended.set()), after=worker.stop)

    assert together.run(lambda _: None) == 1


def test_a_part_that_fails_takes_the_process_down():
    server, worker, relay = Listener(), Work(status=1), Work()
    soon(worker.stop.set, after=worker.running)

    status = OneProcess(server, {"worker": worker, "relay": relay}).run(lambda _: None)

    assert status == 1
    assert relay.asked == 1
    assert server.log == ["started", "stopping"]


def test_what_a_part_raises_is_raised_once_the_others_have_ended():
    server, worker, relay = Listener(), Work(), Work(error=ValueError("no such exchange"))
    soon(relay.stop.set, after=relay.running)

    with pytest.raises(ValueError, match="no such exchange"):
        OneProcess(server, {"worker": worker, "relay": relay}).run(lambda _: None)

    assert worker.asked == 1


def test_a_worker_that_an_operator_drained_leaves_the_rest_running(
    caplog: pytest.LogCaptureFixture,
):
    server, worker, relay = Listener(), Work(), Work()
    together = OneProcess(server, {"worker": worker, "relay": relay})
    drained = threading.Event()

    class Hears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if getattr(record, "event", "") == "drained":
                drained.set()

    logger = logging.getLogger("holdfast.cli")
    logger.addHandler(handler := Hears())
    soon(worker.stop.set, after=relay.running)
    soon(together.request_stop, after=drained)

    status = together.run(lambda _: None)
    logger.removeHandler(handler)

    assert status == 0
    assert "the worker was drained and has ended; the rest goes on" in caplog.text


def test_a_server_that_ends_by_itself_takes_the_process_down():
    server, worker = Listener(), Work()
    soon(server.ended.set, after=worker.running)

    assert OneProcess(server, {"worker": worker}).run(lambda _: None) == 1
    assert worker.asked == 1
