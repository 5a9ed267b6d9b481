"""What a complete application on holdfast is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from holdfast.classify import PublicCode
from holdfast.core.values.retention import Retention
from holdfast.engine.attention import Need
from holdfast.engine.erasure import Eraser
from holdfast.engine.figures import Figure
from holdfast.errors import InvalidValue
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import checked_name
from holdfast.runtime.deliveries.provider import Provider
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.secrets import SecretProvider, Secrets
from holdfast.systems.stand_in import StandIn, Switch
from holdfast.variables import Variables

if TYPE_CHECKING:
    from fastapi import APIRouter

    from holdfast.engine.app import Holdfast


LAB_VARIABLE: Final = "HOLDFAST_LAB"
"""Is `1` in what `build` gets from `holdfast dev`, where people watch what fails."""
Asgi = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""


class Service(Protocol):
    """What runs until it is stopped: a worker, a relay, a consumer, or a loop of a system's own."""

    def run(self, *, handle_signals: bool = True) -> int:
        """Work until `request_stop` is called; return 0 after a clean end.

        Without `handle_signals` signals are the caller's to handle, and so is the main thread.
        """
        ...

    def request_stop(self) -> None:
        """Have `run` return soon; a second call asks for haste. Safe in a signal handler."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a system is made of.

    `router` makes routes for the API, each of which has to demand a role. `pages` makes an ASGI
    application that is mounted under `place` and minds its own doors.
    `body_limits` say how many bytes may be sent to what begins with a path, where that is more
    than the API takes anyway. With `walk_ins` people without credentials may use the routes that
    let them in, each as an owner of their own. `not_yours` is the answer to an owner who asks
    for a job of another's, or one that is not there, instead of that there is no such job.
    `retention` is how long a system needs its jobs; of several the longest counts, and before all
    of them what the operator set. `secret_names` are names whose values are shown to nobody, in
    payloads and results either, such as those of people's addresses.
    `services` by name make what runs beside the worker, in a thread each, for as long as the
    process does; one that fails ends the process.
    """

    pipelines: Sequence[Pipeline] = ()
    providers: Sequence[Provider] = ()
    chores: Sequence[Chore] = ()
    """What every worker does about once a minute."""
    bind: Callable[[Holdfast], None] | None = None
    """Gets the engine once it is made, for chores and handlers that need it."""
    chores_of: Callable[[Holdfast], Sequence[Chore]] | None = None
    """Makes more of them, which need the application."""
    erase: Eraser | None = None
    """Removes what the system keeps outside the database of an owner who is erased."""
    router: Callable[[Holdfast], APIRouter] | None = None
    pages: Callable[[Holdfast], Asgi] | None = None
    place: str | None = None
    """Where the pages are mounted, under `/`; the system's own name unless it is given."""
    devices: Sequence[str] = ()
    """What its pages may use of a browser's devices: `camera`, `microphone`."""
    body_limits: Mapping[str, int] = field(default_factory=dict)
    walk_ins: bool = False
    not_yours: PublicCode | None = None
    retention: Retention = field(default_factory=Retention)
    secret_names: Sequence[str] = ()
    secrets: Secrets | SecretProvider | None = None
    """What its handlers ask by `job.secret`; the variables of the environment unless given."""
    figures: Callable[[Holdfast], Iterable[Figure]] | None = None
    """Return figures of the system for `/metrics`; called at most every few seconds."""
    needs: Callable[[Holdfast], Iterable[Need]] | None = None
    """Return what needs a person in the system, for the one list of that; it has to be quick."""
    tables: str | None = None
    """The package whose files `0001_name.sql` and so on make the system's tables."""
    services: Mapping[str, Callable[[Holdfast], Service]] = field(default_factory=dict)
    message_types: Sequence[str] = ()
    """Types of messages that a relay among its services publishes, so that no other does."""
    switches: Sequence[Switch] = ()
    """What the page of the lab can switch, besides the stand-ins."""

    def __post_init__(self) -> None:
        if self.place is not None:
            checked_name(self.place, what="place of pages")
        for name in self.services:
            checked_name(name, what="service")
        if isinstance(self.message_types, str):
            limit = "a list of types"
            value = self.message_types
            raise InvalidValue("Parts", field="message_types", value=value, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system: `build` makes its parts from the variables of the environment.

    `title` is what people call it, `summary` what it does, in one line. What `build` gets is a
    `holdfast.variables.Variables`: a variable with the system's name before it stands there under
    its plain name as well. `read_settings` reads the same variables and builds nothing, so that
    `holdfast config show` can say what is set. `other_variables` are those with the system's name
    before them that another program of its package reads. `ops` is the package with its
    `alerts.yml` and `grafana.json`, for `holdfast export`.
    """

    name: str
    title: str
    build: Callable[[Mapping[str, str]], Parts]
    summary: str = ""
    stand_ins: Sequence[StandIn] = field(default=())
    read_settings: Callable[[Mapping[str, str]], object] | None = None
    other_variables: Collection[str] = ()
    ops: str | None = None

    def __post_init__(self) -> None:
        checked_name(self.name, what="system")


class Built(NamedTuple):
    """A system and what it was built to be."""

    system: System
    parts: Parts
    variables: Variables = Variables({})
    """The variables as it has looked at them."""

    @property
    def place(self) -> str:
        """The path under which its pages are."""
        return f"/{self.parts.place or self.system.name}"

    def services(self, app: Holdfast) -> dict[str, Service]:
        """Make its services, by the names under which they run beside those of other systems."""
        return {
            f"{self.system.name}-{name}": make(app) for name, make in self.parts.services.items()
        }
