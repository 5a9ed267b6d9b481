"""What happened to a dead letter, and what has to be done next."""

from __future__ import annotations

from typing import assert_never

from holdfast.core.dead_letter.dead_letter import FILE, MESSAGE, Cause, Standing
from holdfast.core.values.instant import SECOND_US
from holdfast.views.dead_letter import LetterView
from holdfast.views.durations import span
from holdfast.views.explain.advice import REMEDIES
from holdfast.views.explain.sentence import Sentence, number


def situation(view: LetterView) -> list[Sentence]:
    """Return sentences: what happened, and, as the last one, what comes next."""
    return [*map(Sentence, past(view)), next_move(view)]


def past(view: LetterView) -> list[str]:
    """Return what happened to a dead letter."""
    letter = view.letter
    attempts = number(letter.attempts, "attempt")
    said = [f"Failed in stage {letter.stage} after {attempts}: {letter.error_class}."]
    if letter.deaths > 1:
        said.append(f"It has failed for good {letter.deaths} times.")
    if view.escalated:
        said.append(
            "It was sent back and failed for the same reason, which repeating does not cure: "
            "show it to those who wrote the code."
        )
    if not letter.outcome_known:
        said.append("It is not known whether the last attempt had an effect outside.")
    return said


def next_move(view: LetterView) -> Sentence:
    """Return what has to be done next with a dead letter."""
    letter = view.letter
    match view.standing:
        case Standing.OPEN | Standing.ESCALATED:
            likely = None if view.advice is None else view.advice.cause
            causes = "|".join(Cause) if likely is None else likely.value
            return Sentence(
                "Find out what kind of cause it is, then triage it.",
                f"holdfast dead triage {letter.id} --cause {causes}",
            )
        case Standing.TRIAGED:
            remedy = REMEDIES[letter.cause or Cause.TRANSIENT]
            return Sentence(
                f"{remedy}. Then say how you know that the cause is gone.",
                f"holdfast dead remediate {letter.id} --evidence …",
            )
        case Standing.REMEDIATED:
            return _replay(view)
        case Standing.REPLAYING if letter.kind == MESSAGE:
            return Sentence(
                "It was published again. Close it once its consumers have handled it.",
                f"holdfast dead resolve {letter.id} --unreplayed --note …",
            )
        case Standing.REPLAYING:
            state = "gone" if view.job_state is None else view.job_state.value
            return Sentence(
                f"Its job was sent back and is {state}; nothing to do but to watch.",
                f"holdfast jobs show {letter.id}",
            )
        case Standing.VERIFIED:
            return Sentence(
                "Its job is complete. Close the letter with a note.",
                f"holdfast dead resolve {letter.id} --note …",
            )
        case Standing.CANCELLED:
            return Sentence(
                "Its job was sent back, and cancelled. Close the letter with a note.",
                f"holdfast dead resolve {letter.id} --unreplayed --note …",
            )
        case Standing.RESOLVED:
            word = "Dismissed, its job never completed" if view.dismissed else "Resolved"
            passed_us = view.read_at - (letter.resolved_at or view.read_at)
            ago = "just now" if passed_us < SECOND_US else f"{span(passed_us)} ago"
            return Sentence(f"{word}, {ago}: {letter.note}")
    assert_never(view.standing)


def _replay(view: LetterView) -> Sentence:
    letter = view.letter
    replay = f"holdfast dead replay {letter.id}"
    if letter.kind == FILE:
        text = "It came from a file: submit it into a pipeline, on the command line."
        return Sentence(text, f"{replay} --pipeline …")
    if letter.kind == MESSAGE:
        return Sentence("Publish it again.", replay)
    if view.job is not None and view.job.key is not None:
        return Sentence("Send its job back to the stage that failed.", replay)
    return Sentence(
        "Its job has no idempotency key: make sure that the stage may be repeated without harm, "
        "then send it back.",
        f"{replay} --safe-to-repeat",
    )
