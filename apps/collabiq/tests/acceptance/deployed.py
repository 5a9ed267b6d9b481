"""The system as it is deployed: processes of `holdfast up` on one database, and the stand-ins."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps.collabiq.tests.world import SETTINGS, Scripted, mail
from collabiq.inbox.poller import LOOK_TIME
from collabiq.rows import count_by_status
from collabiq.samples import COMPANIES
from collabiq.stand_ins.world import ServedWorld, StandInWorld
from holdfast import Holdfast
from holdfast.systems import Answer, Call
from tests.deployed.process import Process, eventually, surroundings

_OWN = ("COLLABIQ_", "GMAIL_", "GEMINI_", "NOTION_", "INFISICAL_", "EMAIL_", "DATA_", "LLM_")
PATIENCE_S = LOOK_TIME.total_seconds() + 60
"""A process that was killed in the middle of a look has the mailbox for so long."""
NAMES = (
    *("Zephyrworks", "Quillstone", "Marblex", "Tundra", "Okapi", "Violetta", "Brine", "Cinder"),
    *("Harpoon", "Juniper", "Lattice", "Nimbus", "Pemberton", "Rookery", "Saffron", "Umbra"),
)
"""Of companies that nobody has, none like another."""
QUICK = {
    "HOLDFAST_POLL": "100ms",
    "HOLDFAST_SWEEP": "100ms",
    "HOLDFAST_LEASE": "2s",
    "POLL_INTERVAL_MS": "200",
    "NOTION_LOOKUP_LAG_MS": "500",
    "NOTION_RATE_LIMIT_PER_SEC": "100",
}


@dataclass
class Deployed:
    """Processes, what they call, and the database they share."""

    served: ServedWorld
    folder: Path
    environment: Mapping[str, str]
    engine: Holdfast
    processes: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.notion = Scripted(self.served.servings["notion"], lambda: 0.0)
        self.gmail = Scripted(self.served.servings["gmail"], lambda: 0.0)

    @property
    def rows_source(self) -> str:
        """The id of the data source that lookups query."""
        world = self.served.world
        return world.notion.databases[world.rows_id]

    @property
    def companies_source(self) -> str:
        """The id of the data source of companies."""
        world = self.served.world
        return world.notion.databases[world.companies_id]

    def start(self, **variables: str) -> Process:
        """Start a process with the worker and the services."""
        environment = {**self.environment, **variables}
        made = Process("collabiq", ["--port", "0"], folder=self.folder, environment=environment)
        self.processes.append(made)
        return made

    def kill_at(self, method: str, part: str, *, done_before: bool, after: int = 0) -> None:
        """Have the first process be killed by such a call, which gets no answer.

        `after` so many others of them, which are answered.
        """

        def killing(call: Call) -> Answer:
            if done_before:
                self.notion.stand_in(call)
            self.processes[0].kill()
            raise ConnectionAbortedError

        self.notion.next(method, part, *[self.notion.stand_in] * after, killing)

    def deliver(self, count: int, *, first: int = 0) -> None:
        for number in range(first, first + count):
            text = f"{NAMES[number]} and Orchard Retail agreed on a pilot on 2026-11-03."
            raw = mail(f"{NAMES[number]} x Orchard Retail", text, number=number)
            self.served.world.gmail.deliver(raw, received_ms=int(time.time() * 1_000))

    def ended(self, count: int) -> dict[str, int]:
        """Return how mails stand, once so many have ended."""
        what = f"{count} mails have ended"
        return eventually(lambda: self.ends_of(count), what, patience_s=PATIENCE_S)

    def ends_of(self, count: int) -> dict[str, int] | None:
        """Return how mails stand if so many have ended, and None otherwise."""
        with self.engine.transaction() as tx:
            found = count_by_status(tx)
        over = sum(found.values()) - found["pending"] - found["processing"]
        return found if over >= count else None

    def companies(self) -> list[str]:
        """Return the titles of the companies that were made."""
        world = self.served.world
        rows = world.notion.rows_of(world.companies_id)[len(COMPANIES) :]
        return [world.notion.texts_of(row, ["Name"])[0] for row in rows]

    def pages(self) -> list[dict[str, Any]]:
        world = self.served.world
        return world.notion.rows_of(world.rows_id)


@contextmanager
def deployed(database_url: str, folder: Path) -> Iterator[Deployed]:
    """Serve the stand-ins, and have nothing started yet."""
    with ExitStack() as opened:
        served = opened.enter_context(ServedWorld(StandInWorld(notion_rate_per_s=None)))
        engine = opened.enter_context(
            Holdfast(database_url, tables={"collabiq": "collabiq.tables"})
        )
        own = {
            **served.variables(),
            **SETTINGS,
            **QUICK,
            "DATA_DIR": str(folder / "data"),
            "HOLDFAST_DATABASE_URL": database_url,
        }
        made = Deployed(served, folder, surroundings(own, foreign=_OWN), engine)
        try:
            yield made
        finally:
            for process in made.processes:
                process.kill()
