"""Applications of a program on the database of a test, and what was submitted to them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pydantic_core import to_jsonable_python

from holdfast.engine.app import Holdfast
from holdfast.engine.functions import JobFunction
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.kernel.clock import Clock
from holdfast.secrecy import redacted
from holdfast.store.contract import JobFilter
from holdfast.views.job import JobView

_PAGE: Final = 1_000
_SHOWN: Final = 10


@contextmanager
def rebuilt(app: Holdfast, url: str, *, clock: Clock | None = None) -> Generator[Holdfast]:
    """Yield an application with the parts of this one on another database.

    Meanwhile the functions that `@app.job` made submit to it. What a program submits by the
    verbs of `app` itself still goes to the database of that.
    """
    with Holdfast(
        url,
        pipelines=app.pipelines.values(),
        providers=[bound.provider for bound in app.dispatch.providers],
        courier=app.dispatch.options,
        chores=app.chores,
        erasers=app.erasers,
        retention=app.retention,
        secrets=app.secrets,
        clock=clock,
    ) as other:
        other.unopened_store.tables = app.unopened_store.tables
        with app.job.submitting_to(other.job):
            yield other


def assert_submitted(
    app: Holdfast, what: Pipeline | JobFunction[..., Any] | str, /, **payload: object
) -> JobView:
    """Return the latest job of a pipeline or function whose payload has these values.

    Raises `AssertionError` with what was submitted instead.
    """
    name = _name_of(what)
    expected = to_jsonable_python(payload)
    jobs = app.jobs(JobFilter(pipeline=name), limit=_PAGE)
    for job in jobs:
        if _has(job.payload, expected):
            return job
    wanted = f" with {expected}" if expected else ""
    found = [f"  {job.payload} ({job.state})" for job in jobs[:_SHOWN]] or ["  none"]
    lines = "\n".join((f"no job of {name!r}{wanted} was submitted; its jobs are:", *found))
    raise AssertionError(redacted(lines))


def _name_of(what: Pipeline | JobFunction[..., Any] | str) -> str:
    if isinstance(what, str):
        return what
    return what.pipeline.name if isinstance(what, JobFunction) else what.name


def _has(payload: object, expected: Mapping[str, object]) -> bool:
    if not expected:
        return True
    return isinstance(payload, dict) and all(
        name in payload and payload[name] == value for name, value in expected.items()
    )
