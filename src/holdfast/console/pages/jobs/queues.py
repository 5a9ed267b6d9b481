"""Queues: how deep they are, how old their oldest job is, and whether workers take from them."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from holdfast.console import words
from holdfast.console.charts import charts
from holdfast.console.rendering.rendering import ACT_ON_ALL, LOOK_AT_ALL, Console
from holdfast.console.requests.ask import Ask, Done
from holdfast.console.requests.visit import Visit
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import QueueCounts

DEPTH: Final = (
    charts.Series("due", "warn"),
    charts.Series("processing", "busy"),
    charts.Series("waiting", "wait"),
    charts.Series("scheduled", "over"),
    charts.Series("expired", "bad"),
)
OLD_US: Final = 60 * SECOND_US
_UNKNOWN: Final = (
    "No queue of this name is known: it has no jobs, no pipeline declares it, no worker serves it."
)
VERY_OLD_US: Final = 600 * SECOND_US


class QueueLine(NamedTuple):
    """A queue as a row shows it."""

    name: str
    paused: bool
    paused_by: str | None
    paused_at: Instant | None
    reason: str | None
    """Why it is paused."""
    due: int
    scheduled: int
    processing: int
    waiting: int
    expired: int
    oldest_due_at: Instant | None
    tone: str
    picture: Markup


def add_to(console: Console) -> None:
    """Route to the page and to pausing."""
    console.page("/queues", LOOK_AT_ALL, lambda visit: queues(console, visit))
    for word in ("pause", "resume"):
        console.action(f"/queues/{{queue}}/{word}", ACT_ON_ALL, QueueAction(console, word))


def queues(console: Console, visit: Visit) -> Response:
    """Return every queue that has active jobs, is paused, declared or served."""
    engine = console.engine
    return console.render(
        visit,
        "queues.html",
        screen="queues",
        queues=queue_lines(engine.queues(), engine.clock.now()),
        depth_key=DEPTH,
    )


def queue_lines(found: list[QueueCounts], now: Instant) -> list[QueueLine]:
    """Return queues as rows show them, drawn to one scale."""
    most = max((_depth(queue) for queue in found), default=0)
    return [_line(queue, most, now) for queue in found]


class QueueAction(NamedTuple):
    """Pause a queue, or let it go on."""

    console: Console
    word: Literal["pause", "resume"]

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of jobs that wait in the queue."""
        name = visit.part("queue")
        counts = next((each for each in self.console.engine.queues() if each.queue == name), None)
        due = 0 if counts is None else counts.due + counts.scheduled
        running = 0 if counts is None else counts.processing
        pause = self.word == "pause"
        return Ask(
            title=f"{self.word.capitalize()} queue {name}?",
            sentences=[
                "Workers take no job from it until it is resumed. It still takes new jobs."
                if pause
                else "Workers take jobs from it again."
            ],
            touches=f"This touches {words.plural(due, 'queued job')}.",
            notes=[
                *([_UNKNOWN] if pause and not self.console.engine.knows_queue(name) else []),
                *(
                    [f"{words.plural(running, 'job')} under way will be finished."]
                    if pause and running
                    else []
                ),
            ],
            verb=f"{self.word.capitalize()} the queue",
            back="/queues",
            dangerous=pause,
        )

    def do(self, visit: Visit) -> Done:
        """Do it; a queue that is so already stays so."""
        name, reason, by = visit.part("queue"), visit.reason(), visit.who.name
        engine = self.console.engine
        if self.word == "pause":
            changed = engine.pause_queue(name, by=by, reason=reason)
            return Done("/queues", "paused" if changed else "unchanged")
        changed = engine.resume_queue(name, by=by, reason=reason)
        return Done("/queues", "resumed" if changed else "unchanged")


def age_tone(oldest_due_at: Instant | None, now: Instant) -> str:
    """Return how worrying it is that a job has been due since then."""
    if oldest_due_at is None or now - oldest_due_at < OLD_US:
        return words.GOOD
    return words.WARN if now - oldest_due_at < VERY_OLD_US else words.BAD


def _depth(queue: QueueCounts) -> int:
    return sum(getattr(queue, each.name) for each in DEPTH)


def _line(queue: QueueCounts, most: int, now: Instant) -> QueueLine:
    parts = [charts.Part(each.name, each.tone, getattr(queue, each.name)) for each in DEPTH]
    return QueueLine(
        name=queue.queue,
        paused=queue.paused_at is not None,
        paused_by=queue.paused_by,
        paused_at=queue.paused_at,
        reason=queue.paused_reason,
        due=queue.due,
        scheduled=queue.scheduled,
        processing=queue.processing,
        waiting=queue.waiting,
        expired=queue.expired,
        oldest_due_at=queue.oldest_due_at,
        tone=age_tone(queue.oldest_due_at, now),
        picture=charts.share(parts, whole=most),
    )
