"""The converter as it is deployed: processes of `holdfast up`, and a gateway that obeys."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.converter.tests.acceptance.visitor import Visitor
from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from tests.deployed.process import OPERATOR, PATIENCE_S, QUICK, Process, eventually, surroundings
from tests.deployed.scripted_server import Call

USUAL_KNOBS: Final = {**QUICK, "RETRY_BASE_DELAY_MS": "100", "RETRY_JITTER_MAX_MS": "50"}


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
        started = Process(
            "converter",
            ["--port", "0", *arguments],
            folder=self.folder,
            environment=surroundings({**self.variables, **knobs}, foreign=("GATEWAY_", "UPLOAD")),
        )
        self.closing.callback(started.kill)
        self._front = self._front or started
        return started

    def visit(self, token: str | None = None) -> Visitor:
        """Return somebody new: a walk-in, unless there is a token."""
        return self.closing.enter_context(Visitor(self.front.address, token))

    def will_get(self, pdf: bytes, *replies: Reply) -> None:
        """Say what the gateway answers for a file; the last reply stands for all that follow."""
        self._replies[pdf] = list(replies)

    def reply(self, call: Call) -> Reply:
        replies = self._replies.get(call.body) or [self.gateway.usual]
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
