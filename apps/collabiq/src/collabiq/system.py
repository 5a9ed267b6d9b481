"""Collabiq as a system that `holdfast up` finds, runs and mounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from collabiq.collabiq import Collabiq
from collabiq.emails.forgetting import Forgetting
from collabiq.flow.flow import Flow
from collabiq.inbox.watching import Watching
from collabiq.mail.parse import MAX_MAIL_BYTES
from collabiq.settings.config import SYSTEM_NAME, Config
from collabiq.settings.system_secrets import SystemSecrets
from collabiq.stand_ins.lab import lab_environment, services, stand_ins, switches
from collabiq.starting import Starting
from collabiq.status.observing import Observing
from holdfast import Holdfast
from holdfast.retention import Owned, Retention
from holdfast.systems import Asgi, Parts, Service, System

if TYPE_CHECKING:
    from fastapi import APIRouter

PLACE: Final = "collabiq"
TABLES: Final = "collabiq.tables"
RETENTION_S: Final = 400 * 86_400.0
"""So long a mail is known by its id; after that its row is found by a lookup."""
_JSON_BYTES: Final = 1024 * 1024
BODY_LIMITS: Final = {"/api/emails": MAX_MAIL_BYTES + 64 * 1024, "/api/emails/": _JSON_BYTES}
"""A little more than a mail may have: its route refuses it with a code of its own."""


class Built:
    """The parts of the system in one process; `bind` gives them their engine."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        variables = lab_environment(environment)
        self.environment, self._variables = environment, variables
        self.config = Config.read(variables)
        self.secrets = SystemSecrets(self.config, variables)
        self.flow = Flow(self.config, self.secrets)
        self._made: Collabiq | None = None

    def bind(self, engine: Holdfast) -> None:
        """Work on this engine from now on."""
        if self._made is None or self._made.engine is not engine:
            self.secrets.bind(engine)
            self._made = Collabiq(engine, self.config, flow=self.flow, environment=self._variables)

    def on(self, engine: Holdfast) -> Collabiq:
        """Return the system on an engine."""
        self.bind(engine)
        if self._made is None:
            raise AssertionError(engine)
        return self._made

    def parts(self) -> Parts:
        """Return what `holdfast up` runs."""
        observing = Observing(self.config)
        return Parts(
            pipelines=self.flow.pipelines,
            bind=self.bind,
            chores_of=self._chores,
            erase=self._erase,
            needs=observing.needs,
            figures=observing.figures,
            router=self._router,
            pages=_pages,
            place=PLACE,
            body_limits=BODY_LIMITS,
            retention=Retention(complete=RETENTION_S, cancelled=RETENTION_S, failed=RETENTION_S),
            secrets=self.secrets,
            tables=TABLES,
            services=self._services(),
            switches=switches(self.environment),
        )

    def _chores(self, engine: Holdfast) -> list[Callable[[], object]]:
        made = self.on(engine)
        gmail = self.flow.works.tools.gmail
        watching = Watching(engine, self.config, gmail, errors=made.errors)
        return [*Forgetting(engine, self.config).chores(), watching.renew]

    def _erase(self, owned: Owned, dry_run: bool) -> Mapping[str, int]:  # noqa: FBT001 - as it is called
        if self._made is None:
            return {}
        return Forgetting(self._made.engine, self.config).erase(owned, dry_run)

    def _router(self, engine: Holdfast) -> APIRouter:
        from collabiq.http.routes import routes_of  # noqa: PLC0415 - workers serve nothing

        return routes_of(self.on(engine))

    def _services(self) -> dict[str, Callable[[Holdfast], Service]]:
        return {
            "inbox": self._inbox,
            "letters": lambda engine: self.on(engine).dlq.mirror,
            **services(self.environment),
        }

    def _inbox(self, engine: Holdfast) -> Service:
        """Return what looks after the mailbox; every secret has to be there before."""
        made = self.on(engine)
        Starting(engine, self.config, self.secrets, errors=made.errors, dlq=made.dlq).begin()
        return self.flow.poller(engine)


def _pages(engine: Holdfast) -> Asgi:
    from collabiq.pages.pages import pages  # noqa: PLC0415 - workers serve nothing

    return pages(engine)


def build(environment: Mapping[str, str]) -> Parts:
    """Make the parts from the variables of the environment."""
    return Built(environment).parts()


SYSTEM: Final = System(
    name=SYSTEM_NAME,
    title="Collabiq",
    summary="Turns mails about collaborations into rows of Notion, each once.",
    build=build,
    read_settings=Config.read,
    ops="collabiq.ops",
    stand_ins=stand_ins(),
)
