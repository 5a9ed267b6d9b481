"""Which jobs an address asks for: the filter of the list and of what is done to all that match."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from holdfast.console.requests.visit import Visit
from holdfast.console.words import sentence
from holdfast.core.job.access import RetryBy
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.engine.app import Holdfast
from holdfast.errors import InvalidValue, RetryNotAllowed
from holdfast.store.contract import JobFilter

INPUTS: Final = (
    ("pipeline", "Pipeline"),
    ("stage", "Stage"),
    ("queue", "Queue"),
    ("owner", "Owner"),
    ("key", "Key"),
    ("error_class", "Error class"),
)
SPANS: Final = (
    ("", "at any time"),
    ("900", "in the last 15 minutes"),
    ("3600", "in the last hour"),
    ("86400", "in the last day"),
    ("604800", "in the last 7 days"),
)
HELD: Final = "held"
_SECONDS: Final = {value for value, _ in SPANS if value}


class JobQuery(NamedTuple):
    """The filter, and the address that asks for it."""

    wanted: JobFilter
    within: str
    matches_nothing: bool = False
    """Whether it asks for what belongs to another owner."""
    label: str | None = None
    """`held` for jobs that their upstream holds."""

    @property
    def filtered(self) -> bool:
        """Whether it asks for anything in particular."""
        return any(self.wanted._replace(owner=None)) or bool(self.wanted.owner or self.label)

    def pairs(self) -> str:
        """Return the part of an address behind the question mark."""
        wanted = self.wanted
        named = [(name, getattr(wanted, name)) for name, _ in INPUTS]
        states = [("state", state.value) for state in wanted.states]
        within = [("within", self.within)] if self.within else []
        within += [("label", self.label)] if self.label else []
        return urlencode([*states, *((name, text) for name, text in named if text), *within])


def job_query(visit: Visit, now: Instant) -> JobQuery:
    """Return what an address asks for, or raise what is wrong with it."""
    states = tuple(_state(text) for text in visit.query.getlist("state") if text)
    within = visit.asked("within") or ""
    if within and within not in _SECONDS:
        raise InvalidValue("jobs", field="within", value=within, limit="one of the choices")
    label = visit.asked("label")
    if label not in {None, HELD}:
        raise InvalidValue("jobs", field="label", value=label, limit=HELD)
    since = Instant(now - int(within) * SECOND_US) if within else None
    named: dict[str, Any] = {name: visit.asked(name) for name, _ in INPUTS}
    foreign = visit.owner is not None and named["owner"] not in (None, visit.owner)
    if visit.owner is not None:
        named["owner"] = visit.owner
    return JobQuery(
        JobFilter(states=states, created_since=since, **named),
        within,
        matches_nothing=foreign,
        label=label,
    )


def _state(text: str) -> JobState:
    try:
        return JobState(text)
    except ValueError:
        known = ", ".join(JobState)
        raise InvalidValue("jobs", field="state", value=text, limit=f"one of {known}") from None


def retry_obstacle(engine: Holdfast, query: JobQuery) -> str:
    """Return why no job that matches may be retried, as a sentence; empty where some may."""
    if query.wanted.pipeline is None:
        return ""
    try:
        engine.access.check_retry(query.wanted.pipeline, RetryBy.OPERATOR)
    except RetryNotAllowed as error:
        return sentence(str(error))
    return ""
