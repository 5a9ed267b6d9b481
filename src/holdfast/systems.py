"""Systems: complete applications on holdfast that `holdfast up` finds, runs and mounts.

A package brings one with an entry point of the group `holdfast.systems` whose value is a `System`.
The engine knows none of them. A system reads where its upstreams are from the environment and
nowhere else, so that the stand-ins of development can take their place without its knowing.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from holdfast.attention import Need
from holdfast.classify import PublicCode
from holdfast.core.values.retention import Retention
from holdfast.erasure import Eraser
from holdfast.errors import HoldfastError, InvalidValue, UsageError
from holdfast.figures import Figure
from holdfast.job_access import Elsewhere
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import checked_name
from holdfast.runtime.deliveries.provider import Provider
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.secrets import SecretProvider, Secrets
from holdfast.stand_in import Answer, Call, StandIn, Switch, Table
from holdfast.store.contract import Store
from holdfast.store.schema.system_tables import SystemTables, load_tables
from holdfast.variables import Variables

if TYPE_CHECKING:
    from fastapi import APIRouter

    from holdfast.engine import Holdfast

__all__ = [
    "Answer",
    "Asgi",
    "Built",
    "Call",
    "Figure",
    "InstalledPipelines",
    "Need",
    "Parts",
    "Service",
    "StandIn",
    "Switch",
    "System",
    "Table",
    "build",
    "find",
    "installed",
    "installed_tables",
    "observe",
    "observe_installed",
    "tables_of",
]

GROUP: Final = "holdfast.systems"
"""The group of entry points that systems register under."""
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
    """Returns figures of the system for `/metrics`; called at most every few seconds."""
    needs: Callable[[Holdfast], Iterable[Need]] | None = None
    """Returns what needs a person in the system, for the one list of that; it has to be quick."""
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


def installed() -> list[str]:
    """Return the names of the systems that are installed here."""
    return sorted(_entries())


def find(names: Iterable[str] | None = None) -> list[System]:
    """Return the systems of those names, or all that are installed, by name.

    Raises `UsageError` for a name that no installed package brings, and for a system that cannot
    be loaded, naming the package whose move it is.
    """
    entries = _entries()
    wanted = sorted(entries) if names is None else list(dict.fromkeys(names))
    for name in wanted:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise UsageError(
                f"no installed package brings a system called {name!r}; installed: {known}"
            )
    return [_loaded(entries[name]) for name in wanted]


def build(systems: Iterable[System], environment: Mapping[str, str]) -> list[Built]:
    """Build systems in this environment, or raise `UsageError` naming the one that refused."""
    built: list[Built] = []
    for system in systems:
        try:
            given = Variables.of(environment, system=system.name)
            built.append(Built(system, system.build(given), given))
        except HoldfastError:
            raise
        except Exception as error:
            raise UsageError(
                f"system {system.name!r} cannot be built: {type(error).__name__}: {error}; "
                "check the variables it reads, or leave it out with --systems"
            ) from error
    return built


class InstalledPipelines:
    """The pipelines that installed systems bring; the systems are built when one is asked for.

    For processes that were given none of them, and need the code of a pipeline all the same. A
    system whose pipelines add messages to decisions gets `engine`, which decides here.
    """

    def __init__(self, environment: Mapping[str, str], engine: Holdfast | None = None) -> None:
        self._environment = environment
        self._engine = engine
        self._building = threading.Lock()
        self._found: dict[str, Elsewhere] | None = None
        self._unbuilt: list[str] = []

    def __call__(self, name: str) -> Elsewhere:
        """Return the pipeline of that name, or why there is none."""
        with self._building:
            if self._found is None:
                self._found = self._build()
        return self._found.get(name) or Elsewhere(None, "; ".join(self._unbuilt))

    def _bind(self, built: Built) -> None:
        """Give a system the engine and its tables, where its code takes part in decisions."""
        parts, engine = built.parts, self._engine
        if engine is None or not any(pipeline.on_decision for pipeline in parts.pipelines):
            return
        store = engine.unopened_store
        store.tables = (*store.tables, *load_tables(tables_of([built])))
        if parts.bind is not None:
            parts.bind(engine)

    def _build(self) -> dict[str, Elsewhere]:
        found: dict[str, Elsewhere] = {}
        for name in installed():
            try:
                [built] = build(find([name]), self._environment)
            except UsageError as error:
                self._unbuilt.append(str(error))
                continue
            self._bind(built)
            note = f"so says system {name!r}, as the environment here has it"
            for pipeline in built.parts.pipelines:
                found.setdefault(pipeline.name, Elsewhere(pipeline, note))
        return found


def tables_of(built: Iterable[Built]) -> dict[str, str]:
    """Return the packages that make the tables of systems, by system."""
    return {one.system.name: one.parts.tables for one in built if one.parts.tables is not None}


def observe(built: Iterable[Built], engine: Holdfast) -> None:
    """Have an engine show the figures of systems, and list what needs a person in them."""
    for one in built:
        if one.parts.figures is not None:
            engine.add_figures(one.parts.figures)
        if one.parts.needs is not None:
            engine.add_needs(one.parts.needs)


def observe_installed(
    engine: Holdfast, environment: Mapping[str, str], names: Iterable[str] | None = None
) -> None:
    """Do so for installed systems that can be built here, on a database that they use.

    A system with tables uses a database that has some of them.
    """
    store = engine.unopened_store
    for name in installed() if names is None else names:
        try:
            built = build(find([name]), environment)
        except UsageError:
            continue
        tables = load_tables(tables_of(built))
        if not _are_used(tables, store):
            continue
        store.tables = (*store.tables, *tables)
        for one in built:
            if one.parts.bind is not None and one.parts.needs is not None:
                one.parts.bind(engine)
        observe(built, engine)


def _are_used(tables: tuple[SystemTables, ...], store: Store) -> bool:
    """Return whether some of these tables were made in a database, or there are none to make."""
    steps = {step.name for each in tables for step in each.migrations}
    before, store.tables = store.tables, tables
    try:
        return not steps or not steps <= {name for name, _ in store.pending_migrations()}
    except UsageError:
        return False
    finally:
        store.tables = before


def installed_tables(
    environment: Mapping[str, str], names: Iterable[str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the tables of systems that can be built here, and why others cannot be."""
    found: dict[str, str] = {}
    unbuilt: list[str] = []
    for name in installed() if names is None else names:
        try:
            found |= tables_of(build(find([name]), environment))
        except UsageError as error:
            unbuilt.append(str(error))
    return found, unbuilt


def _entries() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise UsageError(
                f"two packages bring a system called {entry.name!r} "
                f"({_brought_by(other)} and {_brought_by(entry)}); uninstall one of them"
            )
    return found


def _loaded(entry: EntryPoint) -> System:
    try:
        found = entry.load()
    except HoldfastError:
        raise
    except Exception as error:
        raise UsageError(
            f"system {entry.name!r} of {_brought_by(entry)} cannot be loaded: "
            f"{type(error).__name__}: {error}; mend it, or leave it out with --systems"
        ) from error
    if not isinstance(found, System):
        raise UsageError(
            f"system {entry.name!r} of {_brought_by(entry)}: {entry.value} is a "
            f"{type(found).__name__}, not a holdfast.systems.System"
        )
    if found.name != entry.name:
        raise UsageError(
            f"system {entry.name!r} of {_brought_by(entry)} calls itself {found.name!r}; "
            "its entry point has to have the same name"
        )
    return found


def _brought_by(entry: EntryPoint) -> str:
    package = None if entry.dist is None else entry.dist.name
    return package or entry.value
