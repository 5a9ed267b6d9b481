"""The options by which commands choose among dead letters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

import click

from holdfast.cli.shell.options import duration_or_moment, instant, text
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.values.instant import Instant
from holdfast.store.tables.dead_letters import LetterFilter

UNRESOLVED: Final = tuple(state for state in LetterState if state is not LetterState.RESOLVED)
_TEXTS: Final = ("pipeline", "stage", "queue", "owner", "error_class", "fingerprint")

_R = TypeVar("_R")


def letter_states(given: str) -> tuple[LetterState, ...]:
    """Return states of dead letters, one or several with commas between them."""
    try:
        return tuple(LetterState(name.strip().lower()) for name in given.split(","))
    except ValueError:
        message = f"{given!r} must be one of {', '.join(LetterState)}."
        raise click.BadParameter(message) from None


class LetterChoice:
    """Which letters are meant, as the options say; times are known once the store's clock is."""

    def __init__(
        self,
        *,
        state: tuple[tuple[LetterState, ...], ...],
        since: float | datetime | None,
        until: float | datetime | None,
        escalated: bool,
        **texts: str | None,
    ) -> None:
        self.states = tuple(dict.fromkeys(one for group in state for one in group))
        self._since = since
        self._until = until
        self._escalated = escalated
        self._texts = texts

    def __bool__(self) -> bool:
        given = (self._since, self._until, *self._texts.values())
        return bool(self.states) or self._escalated or any(value is not None for value in given)

    def at(self, now: Instant) -> LetterFilter:
        """Return the filter at `now`; without a state it leaves out what is resolved."""
        return LetterFilter(
            states=self.states or UNRESOLVED,
            escalated=True if self._escalated else None,
            failed_since=instant(self._since, now),
            failed_until=instant(self._until, now),
            **self._texts,
        )


def letter_filter_options(command: Callable[..., _R]) -> Callable[..., _R]:
    """Give a command the options of a filter; it gets them as one argument, `wanted`."""

    @functools.wraps(command)
    def with_filter(*arguments: Any, **options: Any) -> _R:  # noqa: ANN401 - passed on as it is
        texts = {name: options.pop(name) for name in _TEXTS}
        others = {name: options.pop(name) for name in ("state", "since", "until", "escalated")}
        return command(*arguments, wanted=LetterChoice(**others, **texts), **options)

    for option in reversed(
        (
            click.option(
                "-s",
                "--state",
                type=letter_states,
                metavar="STATE",
                multiple=True,
                help=f"Letters in this state: {', '.join(LetterState)}; without it, "
                "all that are not resolved.",
            ),
            click.option("-p", "--pipeline", type=text, help="Letters of this pipeline."),
            click.option("--stage", type=text, help="Letters of jobs that failed in this stage."),
            click.option("-q", "--queue", type=text, help="Letters of this queue."),
            click.option("--owner", type=text, help="Letters of this owner."),
            click.option("--error-class", type=text, help="Letters of this error class."),
            click.option(
                "-g",
                "--group",
                "fingerprint",
                type=text,
                metavar="FINGERPRINT",
                help="Letters of this cause; see: holdfast dead groups.",
            ),
            click.option(
                "--escalated",
                is_flag=True,
                help="Letters whose replay failed again for the same reason.",
            ),
            click.option(
                "--since",
                type=duration_or_moment,
                metavar="TIME",
                help="Letters of jobs that failed since then: a time, or how long ago, such as 1h.",
            ),
            click.option(
                "--until",
                type=duration_or_moment,
                metavar="TIME",
                help="Letters of jobs that failed before then.",
            ),
        )
    ):
        with_filter = option(with_filter)
    return with_filter
