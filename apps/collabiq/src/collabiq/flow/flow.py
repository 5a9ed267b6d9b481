"""The flow, put together: pipelines first, and what they work with once there is an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from collabiq.failures.errors import ErrorRecords
from collabiq.flow.stages import Bound, make_pipelines
from collabiq.flow.writing import Writer
from collabiq.inbox.feeding import Feeder
from collabiq.inbox.poller import Poller
from collabiq.inbox.standing import Standing
from collabiq.services.directory import Directory
from collabiq.services.tools import Tools
from collabiq.services.upstreams import Upstreams
from collabiq.settings.config import Config
from collabiq.tables.times import from_us
from holdfast import Holdfast, Pipeline
from holdfast.presets import FIVE_IN_A_ROW

if TYPE_CHECKING:
    from collabiq.settings.system_secrets import SystemSecrets

_T = TypeVar("_T")


class Works:
    """What stages work with on one engine."""

    def __init__(
        self, engine: Holdfast, config: Config, secrets: SystemSecrets, errors: ErrorRecords
    ) -> None:
        self.engine, self.config, self.errors = engine, config, errors
        self.tools = Tools(config, secrets, now=lambda: from_us(engine.clock.now()))
        self.directory = Directory(engine)
        self.writer = Writer(engine, self.tools, config, self.directory, errors)


class Flow:
    """Takes mails from the mailbox to Notion. `bind` gives it its engine."""

    def __init__(self, config: Config, secrets: SystemSecrets) -> None:
        self.config, self.secrets = config, secrets
        self.pipelines: list[Pipeline] = make_pipelines(self._bound, Upstreams(config), config)
        self._works: Works | None = None

    def bind(self, engine: Holdfast, *, errors: ErrorRecords) -> None:
        """Work on this engine from now on."""
        self._works = Works(engine, self.config, self.secrets, errors)

    @property
    def works(self) -> Works:
        """What stages work with."""
        return _found(self._works)

    def poller(self, engine: Holdfast) -> Poller:
        """Return the service that looks after the mailbox."""
        patience_s = self.config.circuit_cooldown_s or FIVE_IN_A_ROW.cooldown
        standing = Standing(engine, patience_s=patience_s)
        feeder = Feeder(engine, self.config, standing=standing)
        return Poller(
            engine, self.config, lambda: self.works.tools, standing=standing, feeder=feeder
        )

    def close(self) -> None:
        """Close the connections."""
        if self._works is not None:
            self._works.tools.close()

    def _bound(self) -> Bound:
        return self.works


def _found(value: _T | None) -> _T:
    if value is None:
        raise RuntimeError("the flow has no engine yet: bind() it first")
    return value
