"""The converter as it is deployed: processes of `holdfast up`, and a gateway that obeys."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from apps.converter.tests.acceptance.visitor import Visitor
from apps.converter.tests.scripted_gateway import XML, Call, Reply, ScriptedGateway
from tests.warm.process import WarmProcess

PATIENCE_S: Final = 90.0
OPERATOR: Final = "an-operators-own-token-of-enough-length"
"""With it in the environment, whoever comes without a token is a walk-in."""
USUAL_KNOBS: Final = {
    "RETRY_BASE_DELAY_MS": "100",
    "RETRY_JITTER_MAX_MS": "50",
    "CIRCUIT_WINDOW": "1000",
    "HOLDFAST_POLL": "100ms",
    "HOLDFAST_SWEEP": "100ms",
}
_FOREIGN: Final = ("HOLDFAST_", "WORKER_", "RETRY_", "CIRCUIT_", "GATEWAY_", "UPLOAD")
_ADDRESS: Final = re.compile(r"http://[\w.]+:\d+")
T = TypeVar("T")


def eventually(look: Callable[[], T], what: str) -> T:
    """Return the first true answer, or fail saying what was waited for."""
    until = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.05)
    return found


class Process:
    """One `holdfast up`, and what it said."""

    def __init__(self, folder: Path, arguments: Iterable[str], variables: Mapping[str, str]):
        self._said = folder / f"{time.monotonic_ns()}.log"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        with self._said.open("w") as log:
            self._process = WarmProcess(
                [sys.executable, "-m", "holdfast", "up", "--systems", "converter", *arguments],
                cwd=folder,
                env={**kept, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._said.read_text()

    @property
    def address(self) -> str:
        """Where it listens, as soon as it says so."""

        def look() -> str | None:
            assert self._process.poll() is None, self.said
            found = _ADDRESS.search(self.said)
            return found[0] if found else None

        return eventually(look, "the address is told") or ""

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        """Return the exit code, once it has ended."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Held:
    """The body of a reply that comes once it is released."""

    def __init__(self) -> None:
        self._released = threading.Event()

    def release(self) -> None:
        self._released.set()

    def __iter__(self) -> Iterator[bytes]:
        self._released.wait(PATIENCE_S)
        yield XML


@dataclass
class Site:
    """A database, two folders and a gateway, and the processes that work on them.

    What the gateway answers is said for each file apart, so that tests can share a site.
    """

    folder: Path
    variables: Mapping[str, str]
    gateway: ScriptedGateway
    closing: ExitStack
    _replies: dict[bytes, list[Reply]] = field(default_factory=dict)
    _front: Process | None = None

    @property
    def front(self) -> Process:
        """The process that visitors come to."""
        assert self._front is not None
        return self._front

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def start(self, *arguments: str, **knobs: str) -> Process:
        """Start a process, to be ended with the site at the latest; the first one is the front."""
        started = Process(self.folder, ["--port", "0", *arguments], {**self.variables, **knobs})
        self.closing.callback(started.kill)
        self._front = self._front or started
        return started

    def visit(self, token: str | None = None) -> Visitor:
        """Return somebody new: a walk-in, unless there is a token."""
        return self.closing.enter_context(Visitor(self.front.address, token))

    def will_get(self, pdf: bytes, *replies: Reply) -> None:
        """Say what the gateway answers for a file; the last reply stands for all that follow."""
        self._replies[pdf] = list(replies)

    def reply(self, _mapping: str | None, pdf: bytes) -> Reply:
        replies = self._replies.get(pdf) or [self.gateway.usual]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def calls_for(self, pdf: bytes) -> list[Call]:
        return [call for call in self.gateway.calls if call.body == pdf]

    def wait_for_calls(self, pdf: bytes, number: int) -> list[Call]:
        """Return the calls for a file, once there are so many."""

        def look() -> list[Call] | None:
            found = self.calls_for(pdf)
            return found if len(found) >= number else None

        return eventually(look, f"{number} calls come") or []

    def xml_of(self, job_id: str) -> list[str]:
        """The names of the results that are kept of a job; what is hidden was never finished."""
        return [path.name for path in self.results.glob("[!.]*") if job_id in path.name]


@contextmanager
def made_site(folder: Path, database_url: str, knobs: Mapping[str, str]) -> Iterator[Site]:
    """Make a site with nothing running but the gateway."""
    with ScriptedGateway() as gateway, ExitStack() as closing:
        variables = {
            **USUAL_KNOBS,
            "DATABASE_URL": database_url,
            "GATEWAY_URL": gateway.url,
            "UPLOADS_DIR": str(folder / "uploads"),
            "RESULTS_DIR": str(folder / "results"),
            "HOLDFAST_API_TOKEN": OPERATOR,
            **knobs,
        }
        site = Site(folder, variables, gateway, closing)
        gateway.answer = site.reply
        yield site
