"""The whole system against the four stand-ins, run in the test's own thread by a clock it moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from apps.collabiq.tests.servers import served_world
from collabiq.collabiq import Collabiq
from collabiq.inbox.poller import Poller
from collabiq.rows import EmailRow, count_by_status, get_email, list_emails
from collabiq.samples import ADDRESS
from collabiq.stand_ins.serving import Serving
from collabiq.stand_ins.wire import Answering
from collabiq.stand_ins.world import ServedWorld, StandInWorld
from collabiq.system import Built
from holdfast import Holdfast
from holdfast.systems import Answer, Call
from holdfast.testing import ManualClock, drain

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
SETTINGS = {
    "INFISICAL_ENABLED": "0",
    "POLL_INTERVAL_MS": "15000",
    "ALERT_SENDERS": "alerts@collabiq.example",
    "LLM_ORDER": "offline",
    "DATA_MIN_FREE_BYTES": "0",
}


@dataclass
class Scripted:
    """A stand-in whose calls are written down, and of which some get another answer."""

    serving: Serving
    now_s: Callable[[], float]
    calls: list[tuple[float, str, str]] = field(default_factory=list)
    """When each call came by the test's clock, its method and its path."""
    rules: list[tuple[str, str, list[Answering]]] = field(default_factory=list)
    """Methods and paths that get other answers, and those."""

    def __post_init__(self) -> None:
        self.stand_in: Any = self.serving.stand_in
        self.serving.stand_in = self

    @property
    def faults(self) -> Mapping[str, Answering]:
        return self.stand_in.faults

    def __call__(self, call: Call) -> Answer:
        path = call.path.partition("?")[0]
        self.calls.append((self.now_s(), call.method, path))
        for method, part, answers in self.rules:
            if answers and method == call.method and part in path:
                return answers.pop(0)(call)
        return self.stand_in(call)

    def next(self, method: str, part: str, *answers: Answering) -> None:
        """Have the next calls of a method to such a path get these answers."""
        self.rules.append((method, part, list(answers)))

    def fault(self, name: str) -> Answering:
        return self.stand_in.faults[name]

    def times(self, method: str, part: str) -> list[float]:
        return [at for at, each, path in self.calls if each == method and part in path]


def status(code: int, *, retry_after: str | None = None) -> Answering:
    """Return an answer of a server that is unwell."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    body = json.dumps({"object": "error", "status": code, "code": "x", "message": "no"}).encode()
    return lambda _call: Answer(code, body, headers=headers)


@dataclass
class World:
    """An engine, the system on it, and what it calls."""

    engine: Holdfast
    clock: ManualClock
    built: Built
    system: Collabiq
    poller: Poller
    served: ServedWorld
    gmail: Scripted
    gemini: Scripted
    notion: Scripted
    numbers: Iterator[int]

    @property
    def stand_ins(self) -> StandInWorld:
        return self.served.world

    def deliver(
        self,
        subject: str = "Brightfold x Orchard Retail",
        text: str = "Brightfold and Orchard Retail agreed on a pilot on 2026-11-03.",
        **headers: str,
    ) -> str:
        """Have a mail arrive, and return its id."""
        return self.deliver_raw(mail(subject, text, number=next(self.numbers), **headers))

    def deliver_raw(self, raw: bytes) -> str:
        received_ms = int(self.clock.now() / 1_000)
        return self.stand_ins.gmail.deliver(raw, received_ms=received_ms)

    def run(self, *, turns: int = 40) -> None:
        """Poll, and run all that can happen by itself, until mails have ended."""
        for _ in range(turns):
            self.poller.turn()
            drain(self.engine)
            self.poller.turn()
            counts = self.counts()
            if not counts["pending"] and not counts["processing"]:
                return
            self.clock.advance(1)

    def poll(self) -> None:
        """Poll now, and run all that follows."""
        self.clock.advance(15)
        self.run()

    def counts(self) -> dict[str, int]:
        with self.engine.transaction() as tx:
            return count_by_status(tx)

    def email(self, email_id: str) -> EmailRow:
        with self.engine.transaction() as tx:
            row = get_email(tx, email_id)
        assert row is not None, email_id
        return row

    def emails(self) -> Sequence[EmailRow]:
        with self.engine.transaction() as tx:
            return list_emails(tx, limit=5_000)

    def result(self, email_id: str) -> dict[str, Any]:
        """Return what the last stage of a mail returned."""
        found: dict[str, Any] = self.engine.job(self.email(email_id).job_id or "").result
        return found

    def pages(self) -> list[dict[str, Any]]:
        """Return the rows that Notion has."""
        return self.stand_ins.notion.rows_of(self.stand_ins.rows_id)

    def page_of(self, email_id: str) -> dict[str, Any]:
        """Return the only row of a mail."""
        [found] = [each for each in self.pages() if _text(each, "Email ID") == email_id]
        return found

    def records(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the records of failures, once all of them are written."""
        self.engine.flush_error_logs()
        return self.system.errors.list(**wanted)["errors"]

    def entries(self, **wanted: Any) -> list[dict[str, Any]]:
        return self.system.dlq.list(**wanted)["entries"]


def mail(subject: str, text: str, *, number: int = 1, **headers: str) -> bytes:
    """Return the bytes of a mail."""
    made = EmailMessage()
    made["From"] = "Kim <kim@partner.example>"
    made["To"] = ADDRESS
    made["Date"] = "Mon, 02 Nov 2026 09:00:00 +0900"
    made["Message-ID"] = f"<{number}@partner.example>"
    made["Subject"] = subject
    for name, value in headers.items():
        del made[name.replace("_", "-")]
        made[name.replace("_", "-")] = value
    made.set_content(text)
    return made.as_bytes()


def _text(page: Mapping[str, Any], column: str) -> str:
    value = page["properties"][column]
    return "".join(each["plain_text"] for each in value[value["type"]])


@contextmanager
def open_world(
    database_url: str, tmp_path: Path, *, start: datetime = START, **settings: str
) -> Iterator[World]:
    """Open the system on a database, with stand-ins of its own; `settings` are variables."""
    clock = ManualClock(start)
    made = StandInWorld(notion_rate_per_s=None, notion_clock=lambda: clock.now() / 1_000_000)
    with served_world(made) as served:
        scripted = {
            name: Scripted(serving, lambda: clock.now() / 1_000_000)
            for name, serving in served.servings.items()
        }
        built = Built(
            {**served.variables(), **SETTINGS, "DATA_DIR": str(tmp_path / "data"), **settings}
        )
        parts = built.parts()
        with Holdfast(
            database_url,
            pipelines=parts.pipelines,
            tables={"collabiq": parts.tables or ""},
            clock=clock,
        ) as engine:
            system = built.on(engine)
            poller = built.flow.poller(engine)
            yield World(
                engine=engine,
                clock=clock,
                built=built,
                system=system,
                poller=poller,
                served=served,
                gmail=scripted["gmail"],
                gemini=scripted["gemini"],
                notion=scripted["notion"],
                numbers=iter(range(1, 100_000)),
            )
            system.dlq.mirror.close()
            built.flow.close()
