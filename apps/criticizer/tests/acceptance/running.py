"""The criticizer as it is deployed: processes of `holdfast up`, and servers that obey."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx2

from apps.criticizer.tests.change_server import ROPE_DIFF, ChangeServer
from apps.criticizer.tests.llm_server import LlmServer
from apps.criticizer.tests.mail_server import MailServer
from tests.deployed.process import OPERATOR, PATIENCE_S, QUICK, Process, eventually, surroundings

LLM_KEY: Final = "sk-proj-Zq81mVx0PlantedPlantedPlanted77aBcD"
KNOBS: Final = {
    **QUICK,
    "RETRY_BASE_DELAY_MS": "40",
    "FETCH_TIMEOUT_MS": "20000",
    "LLM_TIMEOUT_MS": "20000",
}
ENDED: Final = ("succeeded", "dead_lettered", "cancelled")
_FOREIGN: Final = ("CHANGES_", "FETCH_", "LLM_", "MAIL_", "POSTMARK_", "RESEND_", "SMTP_")
Document = dict[str, Any]


@dataclass
class Site:
    """A database and three servers, and the processes that work on them."""

    folder: Path
    variables: Mapping[str, str]
    changes: ChangeServer
    llm: LlmServer
    mail: MailServer
    closing: ExitStack
    processes: list[Process]
    _clients: dict[str, httpx2.Client] = field(default_factory=dict)

    @property
    def surroundings(self) -> dict[str, str]:
        """The environment of its processes."""
        return surroundings(self.variables, foreign=_FOREIGN)

    def start(self, *arguments: str, system: str = "criticizer", **knobs: str) -> Process:
        """Start a process, to be ended with the site at the latest."""
        started = Process(
            system,
            ["--port", "0", *arguments],
            folder=self.folder,
            environment={**self.surroundings, **knobs},
        )
        self.closing.callback(started.kill)
        self.processes.append(started)
        return started

    def restart(self) -> None:
        """Kill every process at once, and start a new one in their place."""
        for process in self.processes:
            process.kill()
        self.processes.clear()
        self.start()

    @property
    def said(self) -> str:
        """Whatever any process said."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    @property
    def http(self) -> httpx2.Client:
        """A client of the newest process, with the operator's token."""
        newest = self.processes[-1]
        address = newest.address
        assert not newest.has_ended, newest.said
        if address not in self._clients:
            self._clients[address] = self.closing.enter_context(
                httpx2.Client(
                    base_url=address,
                    headers={"Authorization": f"Bearer {OPERATOR}"},
                    timeout=PATIENCE_S,
                )
            )
        return self._clients[address]

    def ask(self, **changed: Any) -> httpx2.Response:
        """Ask for a review of a change that is there."""
        body = {
            "changelist_id": "cl-1",
            "review_version": 1,
            "recipients": ["ada@example.org"],
            "idempotency_key": uuid4().hex,
            **changed,
        }
        self.changes.changes.setdefault(body["changelist_id"], ROPE_DIFF)
        return self.http.post("/api/reviews", json=body)

    def review(self, changelist_id: str = "cl-1") -> Document:
        """The newest review of a change."""
        found = self.http.get(f"/api/reviews/{changelist_id}").json()
        newest: Document = found["versions"][0]
        return newest

    def ended(self, changelist_id: str = "cl-1") -> Document:
        """The newest review of a change, once it has ended."""

        def look() -> Document | None:
            found = self.review(changelist_id)
            return found if found["status"] in ENDED else None

        return eventually(look, f"the review of {changelist_id} ends") or {}

    def reviewed(self, **changed: Any) -> Document:
        """Ask for a review, and return it once it has ended."""
        answer = self.ask(**changed)
        assert answer.status_code == 201, answer.text
        return self.ended(answer.json()["changelist_id"])

    def letter(self, review: Document) -> Document:
        found: Document = self.http.get(f"/api/dead-letters/{review['job_id']}").json()
        return found

    def act(self, review: Document, verb: str, **said: Any) -> httpx2.Response:
        """Do one step of an operator's work on a dead letter."""
        return self.http.post(f"/api/dead-letters/{review['job_id']}/{verb}", json=said)

    def replay(self, review: Document, **said: Any) -> httpx2.Response:
        """Go through the steps that lead to a replay."""
        assert self.act(review, "triage", cause="transient").status_code == 200
        assert self.act(review, "remediate", evidence="INC-7: it is up again").status_code == 200
        return self.act(review, "replay", **said)


@contextmanager
def made_site(folder: Path, database_url: str, knobs: Mapping[str, str]) -> Generator[Site]:
    """Make a site with nothing running but the servers."""
    with ChangeServer() as changes, LlmServer() as llm, MailServer() as mail, ExitStack() as ends:
        variables = {
            **KNOBS,
            "DATABASE_URL": database_url,
            "CHANGES_URL": changes.url,
            "LLM_BASE_URL": llm.base_url,
            "LLM_API_KEY": LLM_KEY,
            "LLM_MODEL": "scripted",
            "RESEND_API_URL": mail.url,
            "RESEND_API_KEY": "re_Planted0Planted0Planted0Key",
            "MAIL_PROVIDER": "resend",
            "MAIL_FROM": "Reviews <reviews@example.org>",
            "HOLDFAST_API_TOKEN": OPERATOR,
            **knobs,
        }
        yield Site(folder, variables, changes, llm, mail, ends, [])
