"""The applications of holdfast's that hold the tasks of a Django project, one for each database."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import django
from django.apps import apps
from django.conf import settings
from django.utils.module_loading import autodiscover_modules, import_string

from holdfast.core.job.job import DEFAULT_QUEUE
from holdfast.django.databases import url_of
from holdfast.engine.app import Holdfast
from holdfast.errors import UsageError
from holdfast.pipeline.declaration import Pipeline

BACKEND: Final = "holdfast.django.Backend"
DATABASE: Final = "default"


class Source(NamedTuple):
    """Where an application comes from."""

    app: str | None
    """The dotted name of a `Holdfast` of the project's own."""
    database: str | None
    """The database of the settings that its jobs are in, where that is known."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Source:
        """Return what `OPTIONS` of a backend name."""
        app = options.get("app")
        return cls(app, options.get("database", None if app else DATABASE))


class _Kept:
    """What belongs to one source: its tasks, which come first, and the application they need."""

    def __init__(self) -> None:
        self.tasks: dict[str, Any] = {}
        self.pipelines: dict[str, Pipeline] = {}
        self.app: Holdfast | None = None


_LOCK: Final = threading.RLock()
_KEPT: Final[dict[Source, _Kept]] = {}


def declare(source: Source, task: Any, pipeline: Pipeline) -> None:  # noqa: ANN401 - Django's
    """Keep a task and the pipeline that runs it; the first of a name counts."""
    with _LOCK:
        kept = _KEPT.setdefault(source, _Kept())
        if pipeline.name not in kept.pipelines:
            kept.tasks[pipeline.name] = task
            kept.pipelines[pipeline.name] = pipeline
            if kept.app is not None:
                kept.app.add(pipeline)


def task_of(source: Source, pipeline: str) -> Any:  # noqa: ANN401 - Django's
    """Return the task that a pipeline runs, or None; modules called `tasks` are looked through."""
    if not is_declared(source, pipeline):
        autodiscover_modules("tasks")
    return _KEPT[source].tasks.get(pipeline) if source in _KEPT else None


def is_declared(source: Source, pipeline: str) -> bool:
    """Return whether there is a task for a pipeline of that name."""
    return source in _KEPT and pipeline in _KEPT[source].pipelines


def application_of(source: Source) -> Holdfast:
    """Return the application of a source, made or imported when it is first needed."""
    with _LOCK:
        kept = _KEPT.setdefault(source, _Kept())
        if kept.app is None:
            kept.app = _imported(source.app) if source.app else _on(source.database or DATABASE)
            for pipeline in kept.pipelines.values():
                kept.app.add(pipeline)
        return kept.app


def application() -> Holdfast:
    """Return the application with all tasks of this project, as `-A` of the command line takes it.

    Tasks are found in the modules called `tasks` of the installed applications; what is elsewhere
    has to be imported by one of these, or when the project starts.
    """
    if not apps.ready:
        django.setup()
    autodiscover_modules("tasks")
    sources = {Source.of(options) for options in _options()}
    if len(sources) != 1:
        raise UsageError(
            f"TASKS has backends of holdfast's on {len(sources)} databases; have one, or name in "
            f"OPTIONS an app for each, and that one here: -A module:app"
            if sources
            else f"TASKS has no backend {BACKEND}; add one, or say with -A where your app is"
        )
    return application_of(sources.pop())


def served_queues() -> list[str]:
    """Return the queues in which there may be tasks of this project, and those of its app."""
    named = {pipeline.queue for pipeline in application().pipelines.values()}
    return sorted(named.union(*(each.get("QUEUES", [DEFAULT_QUEUE]) for each in _backends())))


def _backends() -> Iterator[Mapping[str, Any]]:
    configured: Mapping[str, Mapping[str, Any]] = getattr(settings, "TASKS", {})
    return (each for each in configured.values() if each.get("BACKEND") == BACKEND)


def _options() -> Iterator[Mapping[str, Any]]:
    return (each.get("OPTIONS", {}) for each in _backends())


def _imported(name: str) -> Holdfast:
    found = import_string(name.replace(":", "."))
    if not isinstance(found, Holdfast):
        raise UsageError(f"app of TASKS, {name!r}, is a {type(found).__name__}, and no Holdfast")
    return found


def _on(database: str) -> Holdfast:
    return Holdfast(url_of(database))
