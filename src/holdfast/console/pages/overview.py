"""The overview: is everything well, and if not, where to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from holdfast.console import words
from holdfast.console.charts import charts
from holdfast.console.charts.depth import depth
from holdfast.console.first_steps import first_steps
from holdfast.console.pages.dead_letters.groups import group_lines
from holdfast.console.pages.jobs.jobs import job_rows
from holdfast.console.pages.jobs.queues import DEPTH, queue_lines
from holdfast.console.pages.operations.upstreams import upstream_lines
from holdfast.console.rendering.rendering import LOOK, Console
from holdfast.console.requests.counting import Counted, counted
from holdfast.console.requests.visit import Visit
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.engine.attention import Attention, Urgency
from holdfast.pipeline.declaration import Pipeline
from holdfast.store.contract import JobFilter, QueueCounts
from holdfast.store.tables.dead_letters import LetterGroup, LetterStanding
from holdfast.views.activity import ActivityRow
from holdfast.views.durations import span
from holdfast.views.explain.advice import Mover
from holdfast.views.worker import standing

MINUTES: Final = 60
MINUTE_US: Final = 60_000_000
PACE_MINUTES: Final = 5
EXACT_BELOW: Final = 10
"""A pace below this is shown with a digit after the point."""
MAX_CLASSES: Final = 6
MAX_GROUPS: Final = 4
LATEST: Final = 8
LABEL_EVERY: Final = 10
SERIES: Final = (
    charts.Series("completed", "good"),
    charts.Series("retried", "warn"),
    charts.Series("failed for good", "bad"),
)
MOVE_OF: Final = {
    Mover.OPERATOR: "Your move",
    Mover.DEVELOPER: "The developers’ move",
    Mover.UPSTREAM: "The upstream’s move",
    Mover.SUBMITTER: "The sender’s move",
    Mover.OPEN: "Your move",
}
TONE_OF: Final = {Urgency.CRITICAL: words.BAD, Urgency.WARNING: words.WARN}
_EVENTS: Final = {"completed": 0, "retried": 1, "failed": 2, "expired": 2, "refused": 2}


class Verdict(NamedTuple):
    """Whether everything is well, in a word and a sentence, and where to go if not."""

    word: str
    tone: str
    title: str
    detail: str = ""
    href: str = ""
    link: str = ""


class Figure(NamedTuple):
    """A number worth a glance."""

    name: str
    value: str
    detail: str
    unit: str = ""


def add_to(console: Console) -> None:
    """Route to the overview."""
    console.page("/", LOOK, lambda visit: overview(console, visit))


def overview(console: Console, visit: Visit) -> Response:
    """Return the overview: of everything, or of what one owner sees."""
    engine = console.engine
    latest = engine.labelled(engine.jobs(JobFilter(owner=visit.owner), limit=LATEST))
    common: dict[str, Any] = {
        **job_rows(console, visit, latest),
        "fleet": visit.owner is None,
        "first_steps": first_steps(engine, console.more) if visit.owner is None else [],
    }
    if visit.owner is None:
        return console.render(
            visit, "overview.html", screen="overview", **common, **_of_all(console)
        )
    groups = engine.dead.groups(limit=100, owner=visit.owner)
    return console.render(
        visit,
        "overview.html",
        screen="overview",
        **common,
        groups=group_lines(groups[:MAX_GROUPS], console.shown_to(visit)),
        attention=[],
        verdict=_verdict_of_owner(groups),
        figures=_figures_of(console, visit.owner),
    )


def _of_all(console: Console) -> dict[str, Any]:
    engine = console.engine
    now = engine.clock.now()
    activity = engine.activity(since=(MINUTES - 1) * 60.0)
    queues = engine.queues()
    found = engine.needs.read()
    upstreams = upstream_lines(console)
    alive = sum(standing(row, now) == "running" for row in engine.workers())
    columns = _columns(activity, now)
    return {
        "groups": [],
        "attention": found,
        "tone_of": TONE_OF,
        "move_of": MOVE_OF,
        "verdict": _verdict(found),
        "figures": _figures(columns, queues, engine.store.letters.standing(), alive=alive, now=now),
        "throughput": _throughput(columns),
        "series": SERIES,
        "failures": _failures(activity, engine.pipelines),
        "breakers": upstreams,
        "queues": queue_lines(queues, now),
        "depth_key": DEPTH,
        "depth": depth(queues, activity, _minutes(now), counted_since=engine.counted_since()),
    }


def _columns(activity: Sequence[ActivityRow], now: Instant) -> list[charts.Column]:
    """Return one bar for each minute, the latest last."""
    sums: Counter[tuple[int, int]] = Counter()
    for row in activity:
        if row.event in _EVENTS:
            sums[(row.minute, _EVENTS[row.event])] += row.count
    columns = []
    for index, minute in enumerate(_minutes(now)):
        clock = to_datetime(minute).strftime("%H:%M")
        values = tuple(sums[(minute, series)] for series in range(len(SERIES)))
        said = ", ".join(f"{value} {each.name}" for value, each in zip(values, SERIES, strict=True))
        label = clock if index % LABEL_EVERY == LABEL_EVERY // 2 else ""
        columns.append(charts.Column(label, f"{clock} UTC: {said}", values))
    return columns


def _minutes(now: Instant) -> list[Instant]:
    last = now - now % MINUTE_US
    return [Instant(last - ago * MINUTE_US) for ago in reversed(range(MINUTES))]


def _throughput(columns: Sequence[charts.Column]) -> Markup:
    totals = [sum(column.values[index] for column in columns) for index in range(len(SERIES))]
    said = ", ".join(f"{total} {each.name}" for total, each in zip(totals, SERIES, strict=True))
    return charts.bars(columns, SERIES, label=f"In the last hour: {said}")


def _failures(
    activity: Sequence[ActivityRow], pipelines: Mapping[str, Pipeline]
) -> list[dict[str, Any]]:
    """Return how often attempts failed, by public code and by error class."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in activity:
        if row.error_class:
            pipeline = pipelines.get(row.pipeline)
            codes = None if pipeline is None else pipeline.public_codes
            code = row.error_class if codes is None else codes.of(row.error_class).code
            counts[code, row.error_class] += row.count
    most = max(counts.values(), default=0)
    return [
        {
            "code": code,
            "error_class": error_class,
            "count": count,
            "bar": charts.share([charts.Part("failed", "bad", count)], whole=most),
        }
        for (code, error_class), count in counts.most_common(MAX_CLASSES)
    ]


def _verdict(found: Sequence[Attention]) -> Verdict:
    """Return whether anybody is needed; all is well only where the list is empty."""
    if not found:
        return Verdict("well", words.GOOD, "Everything is well.", "Nothing waits for you.")
    count = words.plural(len(found), "thing")
    title = f"{count} {'needs' if len(found) == 1 else 'need'} a person."
    return Verdict("needs you", TONE_OF[found[0].urgency], title)


def _verdict_of_owner(groups: Sequence[LetterGroup]) -> Verdict:
    """Return whether jobs of one owner wait for a person."""
    letters = sum(group.letters for group in groups)
    if not letters:
        return Verdict("well", words.GOOD, "Everything is well.", "Nothing waits for you.")
    causes = words.plural(len(groups), "cause")
    waiting = f"{words.plural(letters, 'dead letter')} of {causes}"
    title = f"{waiting} {'waits' if letters == 1 else 'wait'} for you."
    return Verdict("needs you", words.BAD, title, "", "/groups", "Failure groups")


def _figures(
    columns: Sequence[charts.Column],
    queues: Sequence[QueueCounts],
    letters: LetterStanding,
    *,
    alive: int,
    now: Instant,
) -> list[Figure]:
    completed = sum(column.values[0] for column in columns)
    failed = sum(column.values[2] for column in columns)
    due = sum(queue.due for queue in queues)
    running = sum(queue.processing for queue in queues)
    oldest = min((queue.oldest_due_at for queue in queues if queue.oldest_due_at), default=None)
    return [
        Figure("Completed", _number(completed), "in the last hour"),
        Figure("Pace", _pace(columns, now), "over the last 5 minutes", "a minute"),
        Figure("Failed for good", _number(failed), "in the last hour"),
        Figure("Due", _number(due), f"{_number(running)} being run"),
        Figure(
            "Oldest due",
            "—" if oldest is None else span(max(now - oldest, 0)),
            "nothing is due" if oldest is None else "how long it has waited",
        ),
        Figure("Dead letters", _number(letters.waiting), f"{_number(letters.escalated)} escalated"),
        Figure("Workers", _number(alive), "running now"),
    ]


def _pace(columns: Sequence[charts.Column], now: Instant) -> str:
    """Return how many jobs were completed a minute recently; the last column is a minute's part."""
    lately = columns[-PACE_MINUTES:]
    minutes = len(lately) - 1 + now % MINUTE_US / MINUTE_US
    per_minute = sum(column.values[0] for column in lately) / max(minutes, 1)
    return _number(round(per_minute)) if per_minute >= EXACT_BELOW else f"{per_minute:.2g}"


def _figures_of(console: Console, owner: str) -> list[Figure]:
    found = {
        state: counted(console.engine, JobFilter(states=(state,), owner=owner))
        for state in JobState
    }
    return [
        Figure(state.value.capitalize(), _counted_number(count), "of your jobs")
        for state, count in found.items()
    ]


def _counted_number(count: Counted) -> str:
    if count.more and not count.jobs:
        return "many"
    return _number(count.jobs) + ("+" if count.more else "")


def _number(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")
