"""Celery workers that a test starts and kills, and the dispatcher that tells them of jobs."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import aio_pika
from aio_pika.abc import AbstractIncomingMessage

from holdfast import Holdfast
from holdfast.bridges.celery.carrier import CeleryCarrier
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.runtime.dispatcher.dispatcher_process import DispatcherProcess
from holdfast.runtime.worker.options import WorkerOptions
from tests.bridges.broker import delete, drained, on_channel, own
from tests.crash.fleet import REPOSITORY, environment_of, eventually

SHOP = "tests.crash.celery_shop"
QUICK = WorkerOptions(poll=0.2, sweep=0.2, lease=2.0, grace=1.0)


class CeleryWorker:
    """`celery worker` with room for two tasks at a time, or as many as it is told."""

    def __init__(
        self,
        *,
        queues: str,
        log: Path,
        environment: dict[str, str],
        pool: str = "prefork",
        places: int = 2,
    ) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", f"{SHOP}:celery", "worker"),
                    *("-Q", queues, "-P", pool, "-c", str(places)),
                    *("-l", "INFO", "-n", f"{log.stem}@%h"),
                    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
                ],
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.log = log

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def terminate(self) -> None:
        """Ask it to stop, and do not wait."""
        self._process.terminate()

    def ready(self) -> None:
        eventually(
            lambda: " ready." in self.log.read_text("utf-8", "replace"),
            what="the Celery worker is ready",
            within_s=60,
        )

    def kill(self) -> None:
        """Kill the worker and its children at once."""
        # The number of one that has ended may be another's by now.
        if self.is_alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> int:
        """Ask it to stop, and return its exit status."""
        if self.is_alive:
            self.terminate()
            try:
                return self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.returncode


class CeleryFleet:
    """The workers of one test, the database they share, and what was run."""

    def __init__(self, url: str, *, broker_url: str, folder: Path, hold_s: float = 60.0) -> None:
        self.broker_url = broker_url
        self.exchange = own("shop")
        self.folder = folder
        self.environment = {
            "SHOP_FOLDER": str(folder),
            "SHOP_BROKER": broker_url,
            "SHOP_DATABASE": url,
            "SHOP_EXCHANGE": self.exchange,
            "SHOP_HOLD": str(hold_s),
        }
        self.shop = self._imported()
        self.app: Holdfast = self.shop.jobs
        assert self.app.verify() == []
        self.workers: list[CeleryWorker] = []
        self.dispatchers: list[DispatcherProcess] = []

    def _imported(self):
        """The shop as this process has it: a copy for each test, with that test's database."""
        import importlib.util  # noqa: PLC0415 - used here alone

        os.environ.update(self.environment)
        found = importlib.util.find_spec(SHOP)
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return module

    def start(
        self,
        *,
        queues: str | None = None,
        pool: str = "prefork",
        places: int = 2,
        with_options_of_pool: bool = False,
    ) -> CeleryWorker:
        options = {"SHOP_OPTIONS": "those of the pool"} if with_options_of_pool else {}
        worker = CeleryWorker(
            queues=queues or f"{self.exchange}.default",
            log=self.folder / f"celery-{len(self.workers) + 1}.log",
            environment={**environment_of(), **self.environment, **options},
            pool=pool,
            places=places,
        )
        self.workers.append(worker)
        return worker

    def dispatcher(self) -> DispatcherProcess:
        made = self.app.dispatcher(
            CeleryCarrier(self.broker_url, exchange=self.exchange), options=QUICK
        )
        made.start()
        self.dispatchers.append(made)
        return made

    def runs(self) -> Counter[str]:
        """How often each task ran, by its own account."""
        return Counter(name for name, _, _ in self.notes())

    def notes(self) -> list[tuple[str, int, float]]:
        file = self.folder / "runs"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(name, int(pid), float(at)) for name, pid, at in map(str.split, lines)]

    def has_run(self, name: str) -> None:
        eventually(lambda: self.runs()[name], what=f"{name} has run", within_s=60)

    def send(self, body: bytes, **properties) -> None:
        """Publish a message of a stranger's to the queue that the workers consume."""

        async def publish(channel) -> None:
            exchange = await channel.get_exchange(self.exchange)
            message = aio_pika.Message(body, **properties)
            await exchange.publish(message, routing_key=f"{self.exchange}.default")

        on_channel(self.broker_url, publish)

    def dead(self, count: int) -> list[AbstractIncomingMessage]:
        """That many dead letters, once they are there."""
        found: list[AbstractIncomingMessage] = []

        def look() -> bool:
            found.extend(drained(self.broker_url, f"{self.exchange}.default.dead"))
            return len(found) >= count

        eventually(look, what=f"{count} dead letters", within_s=60)
        return found

    def story(self) -> str:
        """Everything the workers said, for a failing test."""
        return "\n".join(worker.log.read_text("utf-8", "replace") for worker in self.workers)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
        for dispatcher in self.dispatchers:
            dispatcher.request_stop()
            dispatcher.drain()
        self.app.close()
        queue = f"{self.exchange}.default"
        delete(
            self.broker_url,
            queues=(queue, f"{queue}.dead"),
            exchanges=(self.exchange, dead_exchange(self.exchange)),
        )


def poison(due: object) -> bytes:
    return json.dumps([[], {"due": due}, {}]).encode()
