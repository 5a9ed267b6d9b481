"""Finds the systems that are installed, builds them, and tells what they bring."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from holdfast.engine.jobs.access import Elsewhere
from holdfast.errors import HoldfastError, UsageError
from holdfast.store.contract import Store
from holdfast.store.schema.system_tables import SystemTables, load_tables
from holdfast.systems.contract import Built, System
from holdfast.variables import Variables

if TYPE_CHECKING:
    from holdfast.engine.app import Holdfast


GROUP: Final = "holdfast.systems"
"""The group of entry points that systems register under."""


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
