"""Collabiq, opened for a command: alone, or with what processes mails beside it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from collabiq.cli.together import Together
from collabiq.collabiq import Collabiq
from collabiq.settings.config import SYSTEM_NAME, Config
from collabiq.starting import Starting
from collabiq.system import TABLES, Built
from holdfast import Holdfast
from holdfast.systems import Service
from holdfast.variables import Variables

DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
WAIT_S: Final = 600.0
"""How long a command waits for what it has started."""
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What commands work with."""

    engine: Holdfast
    collabiq: Collabiq
    built: Built

    @property
    def config(self) -> Config:
        """What collabiq is set to."""
        return self.collabiq.config

    def require_secrets(self) -> None:
        """Raise `MissingAtStart` where a secret is found nowhere that is needed."""
        made = self.collabiq
        Starting(
            self.engine, self.config, self.built.secrets, errors=made.errors, dlq=made.dlq
        ).begin()

    @contextmanager
    def working(self, *, takes_mail: bool = False) -> Iterator[Together]:
        """Process jobs here meanwhile; with `takes_mail` also those of mails that only wait."""
        together = Together(self.services(takes_mail=takes_mail))
        with together:
            yield together

    def services(self, *, takes_mail: bool) -> dict[str, Service]:
        """Return what processes mails, to be run."""
        services: dict[str, Service] = {
            "worker": self.engine.worker(),
            "letters": self.collabiq.dlq.mirror,
        }
        if takes_mail:
            services["inbox"] = self.built.flow.poller(self.engine)
        return services

    def new_of_poll(self, poll_id: str) -> int:
        """Return how many mails a poll has found that were not known."""
        found = self.engine.results(poll_id).get("gmail_poll") or {}
        return int(found.get("new", 0))

    def wait_for(self, done: Callable[[], bool], *, within_s: float = WAIT_S) -> bool:
        """Return whether something has come true in time."""
        pause, waited_s = threading.Event(), 0.0
        while not done():
            if waited_s >= within_s:
                return False
            pause.wait(_LOOK_S)
            waited_s += _LOOK_S
        return True


@contextmanager
def opened(environment: Mapping[str, str] | None = None) -> Iterator[Opened]:
    """Open the database, and close it afterwards."""
    built = Built(os.environ if environment is None else environment)
    parts = built.parts()
    with ExitStack() as closing:
        engine = closing.enter_context(
            Holdfast(
                database_url(),
                pipelines=parts.pipelines,
                tables={SYSTEM_NAME: TABLES},
                retention=parts.retention,
                secrets=built.secrets,
                secret_names=parts.secret_names,
            )
        )
        made = built.on(engine)
        if parts.chores_of is not None:
            engine.chores = (*engine.chores, *parts.chores_of(engine))
        closing.callback(built.flow.close)
        yield Opened(engine=engine, collabiq=made, built=built)


def database_url() -> str:
    """Return where mails are kept, as `holdfast up` finds it."""
    given = Variables.of(os.environ)
    plain = given.text("DATABASE_URL", DEFAULT_DATABASE_URL)
    return given.text("HOLDFAST_DATABASE_URL", plain)
