"""The four stand-ins together, set up alike: one workspace, one mailbox, one set of secrets."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, Self

from collabiq.notion.schema import COMPANY_FIELDS, DEFAULT_FIELDS, KINDS
from collabiq.samples import ADDRESS, COMPANIES, PEOPLE, Sample, mailbox
from collabiq.stand_ins.gemini import GeminiStandIn
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.infisical import CLIENT_ID, CLIENT_SECRET, InfisicalStandIn
from collabiq.stand_ins.notion import NotionStandIn
from collabiq.stand_ins.serving import Answers, Serving

SERVICES: Final = ("gmail", "gemini", "notion", "infisical")
NOTION_KEY: Final = "stand-in-notion-key"
GEMINI_KEY: Final = "stand-in-gemini-key"
PROJECT_ID: Final = "stand-in-project"
TYPES: Final = (
    "[A] portfolio x affiliate",
    "[B] portfolio x other",
    "[C] portfolio x portfolio",
    "[D] other",
)
COLUMNS: Final[Mapping[str, str]] = {
    DEFAULT_FIELDS[field]: kinds[0] for field, kinds in KINDS.items() if field not in COMPANY_FIELDS
}
_COMPANY_COLUMNS: Final = {
    "Name": "title",
    DEFAULT_FIELDS["is_portfolio"]: "checkbox",
    DEFAULT_FIELDS["is_affiliate"]: "checkbox",
}


class StandInWorld:
    """What the four servers have: companies, people, an empty table of rows, an empty mailbox."""

    def __init__(
        self,
        *,
        notion_rate_per_s: float | None = 3.0,
        run: int = 0,
        notion_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gmail = GmailStandIn(address=ADDRESS, run=run)
        self.gemini = GeminiStandIn()
        self.notion = NotionStandIn(rate_per_s=notion_rate_per_s, clock=notion_clock)
        self.infisical = InfisicalStandIn()
        self.rows_id = self.notion.add_database(
            "협업", COLUMNS, options={DEFAULT_FIELDS["type"]: TYPES}
        )
        self.companies_id = self.notion.add_database("회사", _COMPANY_COLUMNS)
        for company in COMPANIES:
            self.notion.add_row(
                self.companies_id,
                {
                    "Name": {"title": [{"text": {"content": company.name}}]},
                    DEFAULT_FIELDS["is_portfolio"]: {"checkbox": company.is_portfolio},
                    DEFAULT_FIELDS["is_affiliate"]: {"checkbox": company.is_affiliate},
                },
            )
        for person in PEOPLE:
            self.notion.add_user(person)

    def deliver(self, samples: Sequence[Sample] | None = None) -> dict[str, str]:
        """Put mails into the mailbox, all of the samples by default; return their ids by name."""
        now_ms = int(time.time() * 1_000)  # noqa: TID251 - a server's own clock
        return {
            sample.name: self.gmail.deliver(sample.raw, received_ms=now_ms)
            for sample in (mailbox() if samples is None else samples)
        }

    def variables(self, urls: Mapping[str, str]) -> dict[str, str]:
        """Return what a system has to be set to that calls these servers; `urls` by service.

        The secrets are in Infisical as well, so that both ways can be tried.
        """
        token = json.dumps(self.gmail.credentials(urls["gmail"]))
        secrets = {
            "GMAIL_TOKEN": token,
            "GEMINI_API_KEY": GEMINI_KEY,
            "NOTION_API_KEY": NOTION_KEY,
            "NOTION_DATABASE_ID_COLLABIQ": self.rows_id,
            "NOTION_DATABASE_ID_COMPANIES": self.companies_id,
        }
        for name, value in secrets.items():
            self.infisical.rotate(name, value)
        return {
            "EMAIL_ADDRESS": self.gmail.address,
            "GMAIL_API_URL": urls["gmail"],
            "GMAIL_TOKEN_URI": f"{urls['gmail']}/token",
            "GEMINI_API_URL": urls["gemini"],
            "NOTION_API_URL": urls["notion"],
            "INFISICAL_ENABLED": "1",
            "INFISICAL_HOST": urls["infisical"],
            "INFISICAL_PROJECT_ID": PROJECT_ID,
            "INFISICAL_CLIENT_ID": CLIENT_ID,
            "INFISICAL_CLIENT_SECRET": CLIENT_SECRET,
            **secrets,
        }


class ServedWorld:
    """A world whose four servers listen on loopback ports, from `port` on or on free ones."""

    def __init__(self, world: StandInWorld | None = None, *, port: int = 0) -> None:
        self.world = world or StandInWorld()
        self._port = port
        self.servings: dict[str, Serving] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            stand_ins = zip(SERVICES, _stand_ins(self.world), strict=True)
            for at, (name, stand_in) in enumerate(stand_ins):
                serving = Serving(stand_in, port=self._port + at if self._port else 0)
                self.servings[name] = opening.enter_context(serving)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def begin(self, world: StandInWorld) -> None:
        """Serve another world from now on, as four new servers at the same addresses would."""
        self.world = world
        for serving, stand_in in zip(self.servings.values(), _stand_ins(world), strict=True):
            serving.begin(stand_in)

    @property
    def urls(self) -> dict[str, str]:
        """Where each service is."""
        return {name: serving.url for name, serving in self.servings.items()}

    def variables(self) -> dict[str, str]:
        """Return what a system has to be set to that calls these servers."""
        return self.world.variables(self.urls)


def _stand_ins(world: StandInWorld) -> tuple[Answers, ...]:
    return world.gmail, world.gemini, world.notion, world.infisical
