"""Kinds of values that options take, and the filter that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import click

from holdfast.config.values import DURATION_FORM, seconds_of
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, from_datetime
from holdfast.store.contract import JobFilter

MAX_TEXT: Final = 255
MOMENT_FORM: Final = "a time such as 2026-01-31T08:00:00Z (UTC unless it says otherwise)"
_TEXTS: Final = ("pipeline", "stage", "queue", "owner", "key", "error_class")

_R = TypeVar("_R")


def text(given: str) -> str:
    """Return printable text of bounded length, which can be stored and shown anywhere."""
    if not given.isprintable() or not 1 <= len(given) <= MAX_TEXT:
        raise click.BadParameter(f"it must be 1 to {MAX_TEXT} printable characters.")
    return given


def duration(given: object) -> float:
    """Return a length of time in seconds."""
    try:
        return seconds_of(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} must be {DURATION_FORM}.") from None


def moment(given: str) -> datetime:
    """Return a point in time; one without an offset is in UTC."""
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} must be {MOMENT_FORM}.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def duration_or_moment(given: str) -> float | datetime:
    """Return a length of time in seconds, or a point in time."""
    try:
        return seconds_of(given)
    except ValueError:
        pass
    try:
        return moment(given)
    except click.BadParameter:
        message = f"{given!r} must be {DURATION_FORM}, or {MOMENT_FORM}."
        raise click.BadParameter(message) from None


def states(given: str) -> tuple[JobState, ...]:
    """Return states of jobs, one or several with commas between them."""
    try:
        return tuple(JobState(name.strip().lower()) for name in given.split(","))
    except ValueError:
        message = f"{given!r} must be one of {', '.join(JobState)}."
        raise click.BadParameter(message) from None


by_option: Final = click.option(
    "--by", type=text, help="Who asks; the user of this system by default."
)


class Filter:
    """Which jobs are meant, as the options say; the times are known once the store's clock is."""

    def __init__(
        self,
        *,
        state: tuple[tuple[JobState, ...], ...],
        since: float | datetime | None,
        until: float | datetime | None,
        **texts: str | None,
    ) -> None:
        self.states = tuple(dict.fromkeys(one for group in state for one in group))
        self._since = since
        self._until = until
        self._texts = texts

    def __bool__(self) -> bool:
        given = (self._since, self._until, *self._texts.values())
        return bool(self.states) or any(value is not None for value in given)

    def at(self, now: Instant) -> JobFilter:
        """Return the filter at `now`; a duration counts back from there."""
        return JobFilter(
            states=self.states,
            created_since=instant(self._since, now),
            created_until=instant(self._until, now),
            **self._texts,
        )


def filter_options(command: Callable[..., _R]) -> Callable[..., _R]:
    """Give a command the options of a filter; it gets them as one argument, `wanted`."""

    @functools.wraps(command)
    def with_filter(*arguments: Any, **options: Any) -> _R:  # noqa: ANN401 - passed on as it is
        texts = {name: options.pop(name) for name in _TEXTS}
        others = {name: options.pop(name) for name in ("state", "since", "until")}
        return command(*arguments, wanted=Filter(**others, **texts), **options)

    for option in reversed(
        (
            click.option(
                "-s",
                "--state",
                type=states,
                metavar="STATE",
                multiple=True,
                help=f"Jobs in this state: {', '.join(JobState)}.",
            ),
            click.option("-p", "--pipeline", type=text, help="Jobs of this pipeline."),
            click.option("--stage", type=text, help="Jobs at this stage."),
            click.option("-q", "--queue", type=text, help="Jobs in this queue."),
            click.option("--owner", type=text, help="Jobs of this owner."),
            click.option("--key", type=text, help="Jobs with this idempotency key."),
            click.option("--error-class", type=text, help="Jobs that failed with this class."),
            click.option(
                "--since",
                type=duration_or_moment,
                metavar="TIME",
                help="Jobs made since then: a time, or how long ago, such as 1h.",
            ),
            click.option(
                "--until", type=duration_or_moment, metavar="TIME", help="Jobs made before then."
            ),
        )
    ):
        with_filter = option(with_filter)
    return with_filter


def instant(given: float | datetime | None, now: Instant) -> Instant | None:
    """Return a point in time, or the one so many seconds before `now`."""
    if given is None:
        return None
    if isinstance(given, datetime):
        return Instant(min(max(from_datetime(given), 0), FAR_FUTURE))
    return Instant(max(now - int(given * SECOND_US), 0))
