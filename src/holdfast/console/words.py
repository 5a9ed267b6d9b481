"""How things stand, in plain words, and the tone in which a page shows each word."""

from __future__ import annotations

from typing import Final

from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.views.durations import span
from holdfast.views.upstream import UpstreamView

GOOD: Final = "good"
BAD: Final = "bad"
WARN: Final = "warn"
BUSY: Final = "busy"
WAIT: Final = "wait"
OVER: Final = "over"

TONES: Final = {
    # jobs
    "queued": OVER,
    "due": BUSY,
    "scheduled": OVER,
    "retrying": WARN,
    "held": WARN,
    "released": BUSY,
    "overdue": BAD,
    "processing": BUSY,
    "waiting": WAIT,
    "complete": GOOD,
    "failed": BAD,
    "cancelled": OVER,
    # what a job's history calls things
    "advanced": GOOD,
    "completed": GOOD,
    "retried": WARN,
    "retry": WARN,
    "snoozed": WAIT,
    "interrupted": WARN,
    "suspended": WAIT,
    "progress": WAIT,
    "expired": BAD,
    "refused": BAD,
    "late": WARN,
    "revived": BUSY,
    "result_removed": OVER,
    # dead letters
    "open": BAD,
    "escalated": BAD,
    "triaged": WARN,
    "remediated": BUSY,
    "replaying": BUSY,
    "verified": GOOD,
    "resolved": OVER,
    # replays and their letters
    "planned": OVER,
    "canary": BUSY,
    "running": BUSY,
    "done": GOOD,
    "stopped": BAD,
    "pending": OVER,
    "sent": BUSY,
    "succeeded": GOOD,
    "failed_again": BAD,
    "skipped": OVER,
    # deliveries and messages
    "intent": OVER,
    "sending": BUSY,
    "unknown": WARN,
    "published": GOOD,
    # gates
    "closed": GOOD,
    "half_open": WARN,
    "paused": WARN,
    # workers
    "draining": WARN,
    "silent": BAD,
}
"""The tone of every word for a state. Where one word serves two things, a page names the tone."""

CAUSES: Final = {
    Cause.TRANSIENT: "Transient: an upstream was down or overloaded",
    Cause.DATA: "Data: the payload or where it comes from",
    Cause.AUTH_CONFIG: "Access or configuration: credentials, permissions, endpoints",
    Cause.CODE_DEFECT: "Code: a defect of our own",
}
UNDECIDED: Final = ("", "Choose what you have found out")
"""What a form offers first where the class of a failure leaves the cause open."""


def tone(word: object) -> str:
    """Return the tone of a word for a state."""
    return TONES.get(str(word), OVER)


def spoken(word: object) -> str:
    """Return a word of the store as people read it."""
    return str(word).replace("_", " ")


def capitalized(text: str) -> str:
    """Return a text that begins with a capital letter, and is left as it is otherwise."""
    return f"{text[:1].upper()}{text[1:]}"


def heading(section: str) -> str:
    """Return a heading of the runbook as it reads, from its name in links."""
    return capitalized(section.replace("-", " "))


def sentence(text: str) -> str:
    """Return what an error says as a sentence of a page."""
    return f"{capitalized(text)}."


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return how many there are of something."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}".replace(",", "\u202f")


def breaker_word(view: UpstreamView) -> str:
    """Return the word for how an upstream stands."""
    if view.paused_until is not None:
        return "paused"
    return view.gate.value


def breaker_says(view: UpstreamView, held: int) -> str:
    """Return a sentence: what an upstream lets through, and until when."""
    now = view.read_at
    if view.paused_until is not None:
        return f"Asked to be left alone for another {span(view.paused_until - now)}."
    if view.state.forced is not None:
        return f"Held {view.state.forced.value} by {view.state.forced_by}."
    match view.gate.value:
        case "open":
            until = "" if view.until is None else f", tried again in {span(view.until - now)}"
            waiting = f"; {plural(held, 'job')} held" if held else ""
            return f"Nothing passes{until}{waiting}."
        case "half_open":
            trials = plural(view.trials, "trial call")
            return (
                f"{trials} under way; the rest waits." if view.trials else "Trial calls may pass."
            )
        case _:
            share = view.share
            if share is not None and share < 1:
                return f"Letting go: {round(share * 100)} % of the places."
            if view.rate is None:
                return "Everything passes."
            waiting = f"; {plural(held, 'job')} held" if held else ""
            return f"{str(view.rate.rate).capitalize()}{waiting}."


def ago(instant: Instant, now: Instant) -> str:
    """Return how far away an instant is."""
    if instant >= FAR_FUTURE:
        return "never"
    if abs(now - instant) < SECOND_US:
        return "just now"
    return f"in {span(instant - now)}" if instant > now else f"{span(now - instant)} ago"
