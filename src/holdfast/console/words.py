"""How things stand, in plain words, and the tone in which a page shows each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from holdfast.core.dead_letter.dead_letter import FILE, MESSAGE, Cause, Standing
from holdfast.core.job.job import ACTIVE, JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.views import sentences
from holdfast.views.advice import REMEDIES, whose_move
from holdfast.views.dead_letter import LetterView
from holdfast.views.durations import span
from holdfast.views.job import HistoryLine, JobView
from holdfast.views.upstream import UpstreamView
from holdfast.views.waiting import Reason, Waiting

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


def remark(view: JobView) -> str:
    """Return the one thing worth knowing of a job in a list."""
    job, now = view.job, view.read_at
    if view.label == "overdue":
        return f"deadline passed {span(now - (job.deadline_at or now))} ago"
    match job.state:
        case JobState.QUEUED:
            if job.run_at <= now:
                due = f"due for {span(now - job.run_at)}"
                return due if view.waits_for is None else f"{due}, {view.waits_for.brief}"
            what = f"attempt {job.attempt + 1}" if job.attempt else "starts"
            return f"{what} in {span(job.run_at - now)}"
        case JobState.PROCESSING:
            if view.waits_for is not None:
                return f"attempt {job.attempt}, {view.waits_for.brief}"
            return f"attempt {job.attempt}, for {span(now - (job.attempt_at or now))}"
        case JobState.WAITING:
            if view.waits_for is not None:
                return view.waits_for.brief
            left = "" if job.run_at >= FAR_FUTURE else f", {span(job.run_at - now)} left"
            return f"for an answer{left}"
        case JobState.COMPLETE:
            return f"took {span((job.finished_at or now) - (job.started_at or job.created_at))}"
        case JobState.FAILED:
            return str((view.error or {}).get("message", ""))
        case JobState.CANCELLED:
            return ""
    assert_never(job.state)


def situation(
    view: JobView,
    *,
    history: Sequence[HistoryLine],
    plan: Plan | None,
    waiting: Sequence[Waiting] = (),
) -> list[str]:
    """Return sentences: how the job stands, and why it does not go on."""
    job, now = view.job, view.read_at
    match job.state:
        case JobState.QUEUED:
            own_times = (Reason.SCHEDULED, Reason.RETRY)
            said = [
                sentences.queued(job, history, now),
                *_reasons([each for each in waiting if each.reason not in own_times]),
            ]
        case JobState.PROCESSING:
            said = [
                sentences.processing(job, plan, now),
                *_reasons(waiting),
            ]
        case JobState.WAITING:
            said = _reasons(waiting)
        case JobState.COMPLETE:
            took = (job.finished_at or now) - (job.started_at or job.created_at)
            said = [f"Complete, {span(took)} after its first attempt began."]
        case JobState.FAILED:
            attempts = plural(job.attempt, "attempt")
            said = [f"Failed for good in stage {job.stage} after {attempts}."]
        case JobState.CANCELLED:
            said = [sentences.cancelled(history)]
        case _:
            assert_never(job.state)
    if job.state in ACTIVE and job.deadline_at is not None:
        if job.deadline_at < now:
            said.append("Its deadline has passed; a running worker will end it as failed.")
        else:
            said.append(f"Its deadline is in {span(job.deadline_at - now)}.")
    return said


def _reasons(waiting: Sequence[Waiting]) -> list[str]:
    lines = ((each.sentence, whose_move(each.whose)) for each in waiting)
    return [line for both in lines for line in both if line is not None]


def letter_next(view: LetterView) -> str:
    """Return whose move it is with a dead letter, and what the move is."""
    letter = view.letter
    match view.standing:
        case Standing.OPEN | Standing.ESCALATED:
            return "Find out what kind of cause it is, then triage it."
        case Standing.TRIAGED:
            remedy = REMEDIES[letter.cause or Cause.TRANSIENT]
            return f"{remedy}. Then say how you know that the cause is gone."
        case Standing.REMEDIATED:
            if letter.kind == FILE:
                return "It came from a file: submit it with the command line, into a pipeline."
            if letter.kind == MESSAGE:
                return "Publish it again."
            if view.job is not None and view.job.key is not None:
                return "Send its job back to the stage that failed."
            return (
                "Its job has no idempotency key: make sure that the stage may be repeated without "
                "harm, then send it back."
            )
        case Standing.REPLAYING if letter.kind == MESSAGE:
            return "It was published again. Close it once its consumers have handled it."
        case Standing.REPLAYING:
            state = "gone" if view.job_state is None else view.job_state.value
            return f"Its job was sent back and is {state}; nothing to do but to watch."
        case Standing.VERIFIED:
            return "Its job is complete. Close the letter with a note."
        case Standing.CANCELLED:
            return "Its job was sent back, and cancelled. Close the letter with a note."
        case Standing.RESOLVED:
            return "Nothing is left to do."
    assert_never(view.standing)


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
