"""What to type after an error: errors state facts, and this table adds commands to some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from holdfast import errors
from holdfast.core.dead_letter.dead_letter import Step
from holdfast.core.job.access import RetryBy

_STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Step.TRIAGE: "holdfast dead triage {id} --cause …",
        Step.REMEDIATE: "holdfast dead remediate {id} --evidence …",
        Step.SAFE_TO_REPEAT: "to confirm it: --safe-to-repeat",
        Step.DELIVERIES: "holdfast deliveries list --job {id} --state unknown, then "
        "holdfast deliveries resolve",
        Step.REPLAY: "holdfast dead replay {id}; to close it without that: --unreplayed",
        Step.COMPLETION: "holdfast jobs show {id}",
    }
)


_WITH_APP: Final = "or here, with an app that has it: -A module:app"


def _after_retry(error: errors.RetryNotAllowed) -> str | None:
    if error.retry_by != RetryBy.WORKFLOW:
        return None
    return "holdfast dead groups" if error.job_id is None else f"holdfast dead show {error.job_id}"


def _after_step(error: errors.StepMissing) -> str | None:
    command = _STEPS.get(error.missing)
    return None if command is None else command.format(id=error.letter_id)


_NEXT: Final[Mapping[type[errors.HoldfastError], Callable[[Any], str | None]]] = MappingProxyType(
    {
        errors.PipelineNeeded: lambda _: _WITH_APP,
        errors.RetryRefused: lambda error: _WITH_APP if error.needs_pipeline else None,
        errors.RetryNotAllowed: _after_retry,
        errors.SchemaMissing: lambda _: "run: holdfast migrate",
        errors.SchemaTooOld: lambda _: "run: holdfast migrate",
        errors.StepMissing: _after_step,
        errors.UnknownDelivery: lambda _: "list them: holdfast deliveries list",
        errors.UnknownLetter: lambda _: "list them: holdfast dead list",
        errors.UnknownMessage: lambda _: "list them: holdfast outbox list",
        errors.UnknownReplay: lambda _: "list them: holdfast dead replays",
        errors.UnknownToken: lambda _: "list them: holdfast tokens list",
        errors.UnknownWorker: lambda _: "list them: holdfast workers list",
    }
)


def sentence_of(error: errors.HoldfastError) -> str:
    """Return what an error says, and what to type next where there is a command for it."""
    following = _NEXT.get(type(error))
    command = None if following is None else following(error)
    return str(error) if command is None else f"{error}; {command}"
