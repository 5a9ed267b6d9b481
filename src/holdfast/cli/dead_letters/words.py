"""How a dead letter stands, in plain words, and whose move it is."""

from __future__ import annotations

from typing import Final, assert_never

from holdfast.cli.shell.output import Styled
from holdfast.core.dead_letter.dead_letter import FILE, MESSAGE, Cause, Standing
from holdfast.core.values.instant import SECOND_US
from holdfast.views.advice import REMEDIES
from holdfast.views.dead_letter import LetterView
from holdfast.views.durations import span
from holdfast.views.sentences import letter_past

STYLES: Final = {
    Standing.OPEN: "red",
    Standing.ESCALATED: "bold red",
    Standing.TRIAGED: "yellow",
    Standing.REMEDIATED: "cyan",
    Standing.REPLAYING: "cyan",
    Standing.VERIFIED: "green",
    Standing.CANCELLED: "dim",
    Standing.RESOLVED: "dim",
}
"""The colour of each word for how a letter stands."""


def standing_of(view: LetterView) -> Styled:
    """Return the word for how the letter stands, in its colour."""
    return Styled(view.standing.value, STYLES[view.standing])


def situation(view: LetterView) -> list[str]:
    """Return sentences: what happened, and what has to be done next."""
    return [*letter_past(view), _next(view)]


def _next(view: LetterView) -> str:
    letter = view.letter
    match view.standing:
        case Standing.OPEN | Standing.ESCALATED:
            advice = view.advice
            likely = None if advice is None else advice.cause
            causes = "|".join(Cause) if likely is None else likely.value
            found_out = "Find out what kind of cause it is" if likely is None else "If that is so"
            return f"{found_out}, then: holdfast dead triage {letter.id} --cause {causes}"
        case Standing.TRIAGED:
            remedy = REMEDIES[letter.cause or Cause.TRANSIENT]
            return f"{remedy}, then: holdfast dead remediate {letter.id} --evidence …"
        case Standing.REMEDIATED:
            if letter.kind == FILE:
                return f"To submit it: holdfast dead replay {letter.id} --pipeline …"
            if letter.kind == MESSAGE:
                return f"To publish it again: holdfast dead replay {letter.id}"
            if view.job is not None and view.job.key is not None:
                return f"To send it back: holdfast dead replay {letter.id}"
            return (
                "Make sure that the stage may be repeated without harm, then: "
                f"holdfast dead replay {letter.id} --safe-to-repeat"
            )
        case Standing.REPLAYING if letter.kind == MESSAGE:
            return (
                "It was published again. Once its consumers have handled it: "
                f"holdfast dead resolve {letter.id} --unreplayed --note …"
            )
        case Standing.REPLAYING:
            state = "gone" if view.job_state is None else view.job_state.value
            return f"Its job was sent back and is {state}: holdfast jobs show {letter.id}"
        case Standing.VERIFIED:
            return f"Its job is complete. To close it: holdfast dead resolve {letter.id} --note …"
        case Standing.CANCELLED:
            return (
                "Its job was sent back, and cancelled. To close it: "
                f"holdfast dead resolve {letter.id} --unreplayed --note …"
            )
        case Standing.RESOLVED:
            word = "Dismissed, its job never completed" if view.dismissed else "Resolved"
            passed_us = view.read_at - (letter.resolved_at or view.read_at)
            ago = "just now" if passed_us < SECOND_US else f"{span(passed_us)} ago"
            return f"{word}, {ago}: {letter.note}"
    assert_never(view.standing)
