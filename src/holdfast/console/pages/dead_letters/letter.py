"""One dead letter, and the steps a person takes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypedDict

from starlette.responses import Response

from holdfast.console import words
from holdfast.console.rendering.filters import short_id
from holdfast.console.rendering.rendering import ACT, LOOK, Console
from holdfast.console.requests.ask import REASON, Ask, Done, Field
from holdfast.console.requests.visit import Visit
from holdfast.core.dead_letter.dead_letter import (
    FILE,
    MESSAGE,
    WAITING_STANDINGS,
    Cause,
    LetterState,
    Standing,
)
from holdfast.views.dead_letter import LetterView
from holdfast.views.explain.advice import MOVERS, REMEDIES
from holdfast.views.explain.dead_letter import next_move, past

_WORKFLOW: Final = ("Triage", "Remediate", "Replay", "Verify", "Resolve")
_AT: Final = {
    Standing.OPEN: 0,
    Standing.ESCALATED: 0,
    Standing.TRIAGED: 1,
    Standing.REMEDIATED: 2,
    Standing.REPLAYING: 3,
    Standing.CANCELLED: 3,
    Standing.VERIFIED: 4,
    Standing.RESOLVED: 5,
}


class Step(NamedTuple):
    """A step of the workflow, and whether it is done, next, or yet to come."""

    name: str
    standing: str


class Move(NamedTuple):
    """Something that can be done now."""

    path: str
    word: str
    kind: str = ""


def add_to(console: Console) -> None:
    """Route to the page of a letter and to the steps."""
    console.page("/dead-letters/{letter_id}", LOOK, lambda visit: letter_page(console, visit))
    for name, ask, do in (
        ("triage", _ask_triage, _triage),
        ("remediate", _ask_remediate, _remediate),
        ("replay", _ask_replay, _replay),
        ("resolve", _ask_resolve, _resolve),
        ("dismiss", _ask_dismiss, _dismiss),
    ):
        console.action(f"/dead-letters/{{letter_id}}/{name}", ACT, LetterStep(console, ask, do))


def letter_page(console: Console, visit: Visit) -> Response:
    """Return all that is known of a letter, and what comes next."""
    found = console.engine.dead.show(visit.part("letter_id"), owner=visit.owner)
    report = console.shown_to(visit).letter_report(found)
    view = report.view
    at = _AT[view.standing]
    trace = None if view.job is None else console.traces.of(view.job.trace)
    elsewhere = {"job_id", "http_status", "attempts", "payload", "key"}
    elsewhere |= {"trace"} if trace else set()
    return console.render(
        visit,
        "letter.html",
        screen="letters",
        view=view,
        letter=view.letter,
        past=past(view),
        next_move=next_move(view).text,
        steps=[
            Step(name, "done" if index < at else "now" if index == at else "later")
            for index, name in enumerate(_WORKFLOW)
        ],
        moves=_moves(view),
        context=[
            (name, value)
            for name, value in view.sanitized_context().items()
            if name not in elsewhere
        ],
        trace=trace,
        key=view.sanitized_context()["key"],
        upstream=report.upstream,
        advice=view.advice if view.standing in WAITING_STANDINGS else None,
        movers=MOVERS,
        attempts_allowed=report.attempts_allowed,
        deliveries=report.deliveries,
        actions=report.actions,
    )


class LetterStep(NamedTuple):
    """One step: what it asks, and what it does."""

    console: Console
    question: Callable[[LetterView], Ask]
    deed: Callable[[Console, Visit, str], str]

    def ask(self, visit: Visit) -> Ask:
        """Ask about the letter as it stands."""
        view = self.console.engine.dead.get(visit.part("letter_id"), owner=visit.owner)
        return self.question(view)

    def do(self, visit: Visit) -> Done:
        """Take the step, or raise the one that has to come first."""
        letter_id = visit.part("letter_id")
        word = self.deed(self.console, visit, letter_id)
        return Done(f"/dead-letters/{letter_id}", word)


def _moves(view: LetterView) -> list[Move]:
    dismiss = Move("dismiss", "Dismiss…")
    match view.standing:
        case Standing.OPEN | Standing.ESCALATED:
            return [dismiss, Move("triage", "Triage…", "main")]
        case Standing.TRIAGED:
            return [
                dismiss,
                Move("triage", "Triage again…"),
                Move("remediate", "Remediate…", "main"),
            ]
        case Standing.REMEDIATED:
            replay = [] if view.letter.kind == FILE else [Move("replay", "Replay…", "main")]
            return [dismiss, *replay]
        case Standing.VERIFIED:
            return [Move("resolve", "Resolve…", "main")]
        case Standing.CANCELLED:
            return [dismiss]
        case Standing.REPLAYING if view.letter.kind == MESSAGE:
            return [dismiss]
        case _:
            return []


def _ask_triage(view: LetterView) -> Ask:
    advice = view.advice
    likely = view.letter.cause or (None if advice is None else advice.cause)
    return Ask(
        **_about(view, "Triage"),
        sentences=[
            f"{view.letter.error_class}: {view.letter.message}",
            *([] if advice is None else [advice.action]),
        ],
        verb="Triage it",
        fields=[
            cause_field("What kind of cause is it?", likely),
            Field(
                name="reason",
                label="What have you found out?",
                needed=True,
            ),
        ],
    )


def cause_field(label: str, likely: Cause | None) -> Field:
    """Return the choice of a cause; where none is likely, a person has to say."""
    choices = [(cause.value, text) for cause, text in words.CAUSES.items()]
    return Field(
        name="cause",
        label=label,
        kind="choice",
        value="" if likely is None else likely.value,
        choices=[words.UNDECIDED, *choices] if likely is None else choices,
        needed=True,
    )


def _triage(console: Console, visit: Visit, letter_id: str) -> str:
    console.engine.dead.triage(
        letter_id,
        cause=visit.text("cause"),
        note=visit.reason(),
        by=visit.who.name,
        owner=visit.owner,
    )
    return "triaged"


def _ask_remediate(view: LetterView) -> Ask:
    cause = view.letter.cause
    return Ask(
        **_about(view, "Remediate"),
        sentences=[] if cause is None else [f"{REMEDIES[cause]}."],
        verb="Keep the evidence",
        fields=[
            Field(
                name="evidence",
                label="How do you know that the cause is gone?",
                needed=True,
            )
        ],
    )


def _remediate(console: Console, visit: Visit, letter_id: str) -> str:
    console.engine.dead.remediate(
        letter_id, evidence=visit.text("evidence"), by=visit.who.name, owner=visit.owner
    )
    return "remediated"


def _ask_replay(view: LetterView) -> Ask:
    keyless = view.job is not None and view.job.key is None
    fields = [REASON]
    if view.letter.kind != MESSAGE:
        fields.append(
            Field(name="from_start", label="From the start", kind="check", hint=_FROM_START)
        )
    if keyless:
        fields.append(
            Field(
                name="confirm_idempotent",
                label="Its stage may be repeated without harm",
                kind="check",
                hint="Its job has no idempotency key, so nobody else can tell.",
                needed=True,
            )
        )
    back = (
        "published again" if view.letter.kind == MESSAGE else "sent back to the stage that failed"
    )
    return Ask(
        **_about(view, "Replay"), sentences=[f"It is {back}."], verb="Replay it", fields=fields
    )


def _replay(console: Console, visit: Visit, letter_id: str) -> str:
    console.engine.dead.replay(
        letter_id,
        by=visit.who.name,
        reason=visit.reason(),
        from_start=visit.ticked("from_start"),
        confirm_idempotent=visit.ticked("confirm_idempotent"),
        owner=visit.owner,
    )
    return "replayed"


def _ask_resolve(view: LetterView) -> Ask:
    return Ask(
        **_about(view, "Resolve"),
        sentences=["Its job was sent back and is complete."],
        verb="Resolve it",
        fields=[_NOTE],
    )


def _resolve(console: Console, visit: Visit, letter_id: str) -> str:
    console.engine.dead.resolve(
        letter_id, note=visit.text("note"), by=visit.who.name, owner=visit.owner
    )
    return "resolved"


def _ask_dismiss(view: LetterView) -> Ask:
    waiting = view.letter.state is not LetterState.REPLAYED
    return Ask(
        **_about(view, "Dismiss"),
        sentences=[
            "The letter is closed although its job never completed. "
            + ("The job stays failed." if waiting else "What was sent stays as it is.")
        ],
        verb="Dismiss it",
        fields=[_NOTE],
        dangerous=True,
    )


def _dismiss(console: Console, visit: Visit, letter_id: str) -> str:
    console.engine.dead.resolve(
        letter_id,
        note=visit.text("note"),
        by=visit.who.name,
        unreplayed=True,
        owner=visit.owner,
    )
    return "dismissed"


class _About(TypedDict):
    """What every question about a letter says."""

    title: str
    touches: str
    back: str


def _about(view: LetterView, word: str) -> _About:
    return {
        "title": f"{word} {short_id(view.id)}?",
        "touches": "This touches 1 dead letter.",
        "back": f"/dead-letters/{view.id}",
    }


_FROM_START: Final = "Instead of from the stage that failed. What earlier stages did is done again."
_NOTE: Final = Field(name="note", label="How did it end?", needed=True)
