"""What main keeps beside the jobs of its submissions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from grading.main.views.progress import RANKS, Progress, ProgressEvent
from grading.states import Skill, Step
from grading.tables.many import row_values
from grading.tables.times import from_us, listed, to_us
from holdfast import Holdfast
from holdfast.transactions import Reading, Transaction

RATE_WINDOW_S: Final = 60.0
GRADER: Final = "grader"
"""The name under which it is kept when a grader last called back."""


class ProgressRow(NamedTuple):
    """What is known of the grading of a submission."""

    progress: Progress
    attempts_made: int | None


class ReviewRow(NamedTuple):
    """A review that is due, under way or done."""

    submission_id: str
    urgency: int
    created_at: datetime
    claimed_by: str | None
    claimed_until: datetime | None
    reviewer: str | None
    human: dict[str, Any] | None
    final: dict[str, Any] | None
    reviewed_at: datetime | None


def read_progress(db: Reading, ids: Sequence[str]) -> dict[str, ProgressRow]:
    """Return what is known of some submissions, by id."""
    if not ids:
        return {}
    names, values = listed(list(ids))
    rows = db.rows(f"select * from grading.progress where submission_id in ({names})", values)  # noqa: S608 - placeholders
    return {row["submission_id"]: _progress_of(row) for row in rows}


def note_progress(tx: Transaction, events: Mapping[str, ProgressEvent]) -> dict[str, float]:
    """Keep what events of submissions say; return the share that is done, of those that count.

    One does not count where a later one is known. A step never goes back within a run, and neither
    does the share that is done. Steps that may come at any time have no rank and keep the highest
    that was reached.
    """
    given, values = row_values(
        [
            {
                "id": submission_id,
                **event._asdict(),
                "step": event.step.value,
                "rank": RANKS.get(event.step, 0),
            }
            for submission_id, event in events.items()
        ]
    )
    ranked, steps = listed([step.value for step in RANKS], prefix="ranked")
    rows = tx.rows(
        "insert into grading.progress as known (submission_id, run, event_id, event_at_us,"  # noqa: S608 - placeholders
        f" step, progress, message, rank) values {given}"
        " on conflict (submission_id) do update set run = excluded.run,"
        " event_id = excluded.event_id, event_at_us = excluded.event_at_us, step = excluded.step,"
        " message = excluded.message,"
        " rank = case when known.run = excluded.run and known.rank > excluded.rank"
        " then known.rank else excluded.rank end,"
        " progress = case when known.run = excluded.run and known.progress > excluded.progress"
        " then known.progress else excluded.progress end,"
        " attempts_made = case when known.run = excluded.run"
        " then known.attempts_made else null end"
        " where known.run < excluded.run or (known.run = excluded.run"
        " and known.event_id <> excluded.event_id and known.event_at_us <= excluded.event_at_us"
        f" and (excluded.step not in ({ranked}) or known.rank <= excluded.rank))"
        " returning submission_id, progress",
        {**values, **steps},
    )
    return {row["submission_id"]: float(row["progress"]) for row in rows}


def note_attempts_made(
    tx: Transaction, submission_id: str, *, run: int, event_id: str, at_us: int, attempts: int
) -> None:
    """Keep how many attempts the stage took that ended a run."""
    tx.execute(
        "insert into grading.progress as known (submission_id, run, event_id, event_at_us, rank,"
        " step, progress, message, attempts_made)"
        " values (:id, :run, :event_id, :at_us, 0, :step, 0, '', :attempts)"
        " on conflict (submission_id) do update set run = excluded.run,"
        " attempts_made = excluded.attempts_made where known.run <= excluded.run",
        {
            "id": submission_id,
            "run": run,
            "event_id": event_id,
            "at_us": at_us,
            "step": Step.QUEUED.value,
            "attempts": attempts,
        },
    )


def _progress_of(row: dict[str, Any]) -> ProgressRow:
    progress = Progress(
        run=row["run"],
        event_id=row["event_id"],
        at_us=row["event_at_us"],
        rank=row["rank"],
        step=Step(row["step"]),
        progress=float(row["progress"]),
        message=row["message"],
    )
    return ProgressRow(progress, row["attempts_made"])


def take_rate(
    tx: Transaction, owner: str, *, limit: int, table: Literal["rate", "upload_rate"] = "rate"
) -> float | None:
    """Count a submission or an upload; return how many seconds to wait when the minute is full.

    The owner's row is locked until the transaction ends, so that two at once are counted both.
    """
    now_us = to_us(tx.now)
    since_us = now_us - int(RATE_WINDOW_S * 1_000_000)
    row = tx.row(
        f"insert into grading.{table} as known (owner, since_us, used)"  # noqa: S608 - names above
        " values (:owner, :now_us, 1)"
        " on conflict (owner) do update set"
        " used = case when known.since_us <= :since_us then 1 else known.used + 1 end,"
        " since_us = case when known.since_us <= :since_us then :now_us else known.since_us end"
        " returning since_us, used",
        {"owner": owner, "now_us": now_us, "since_us": since_us},
    )
    if row is None or not limit or row["used"] <= limit:
        return None
    return float(max((row["since_us"] - since_us) / 1_000_000, 1.0))


class NewScore(NamedTuple):
    """A result that counts for the figures of its owner."""

    submission_id: str
    owner: str
    skill: Skill
    result: dict[str, Any]


def add_scores(tx: Transaction, scores: Sequence[NewScore]) -> None:
    """Have results count for the figures of their owners, each once."""
    given, values = row_values(
        [
            {
                "id": score.submission_id,
                "owner": score.owner,
                "skill": score.skill.value,
                "overall": float(score.result["overallScore"]),
                "usd": float((score.result.get("cost") or {}).get("usd", 0.0)),
                "at_us": to_us(tx.now),
            }
            for score in scores
        ]
    )
    tx.execute(
        "insert into grading.score (submission_id, owner, skill, overall, usd, completed_at_us)"  # noqa: S608 - placeholders
        f" values {given} on conflict (submission_id) do update set overall = excluded.overall",
        values,
    )


def read_scores(db: Reading, owner: str, skill: Skill, *, limit: int) -> tuple[list[float], int]:
    """Return the last scores of an owner, newest first, and how many there are."""
    values = {"owner": owner, "skill": skill.value, "limit": limit}
    rows = db.rows(
        "select overall from grading.score where owner = :owner and skill = :skill"
        " order by completed_at_us desc, submission_id desc limit :limit",
        values,
    )
    counted = db.row(
        "select count(*) as n from grading.score where owner = :owner and skill = :skill", values
    )
    return [float(row["overall"]) for row in rows], counted["n"] if counted else 0


def add_review(
    tx: Transaction, submission_id: str, *, owner: str, urgency: int, created_at: datetime
) -> None:
    """Put a result into the queue of teachers, once."""
    tx.execute(
        "insert into grading.review (submission_id, owner, urgency, created_at_us)"
        " values (:id, :owner, :urgency, :at_us) on conflict (submission_id) do nothing",
        {"id": submission_id, "owner": owner, "urgency": urgency, "at_us": to_us(created_at)},
    )


def read_reviews(db: Reading, ids: Sequence[str]) -> dict[str, ReviewRow]:
    """Return the reviews of some submissions, by id."""
    if not ids:
        return {}
    names, values = listed(list(ids))
    rows = db.rows(f"select * from grading.review where submission_id in ({names})", values)  # noqa: S608 - placeholders
    return {row["submission_id"]: _review_of(row) for row in rows}


def open_reviews(db: Reading, *, limit: int) -> list[ReviewRow]:
    """Return the reviews that are due, the most urgent and oldest first."""
    rows = db.rows(
        "select * from grading.review where final is null"
        " order by urgency, created_at_us, submission_id limit :limit",
        {"limit": limit},
    )
    return [_review_of(row) for row in rows]


def claim_review(tx: Transaction, submission_id: str, *, by: str, for_s: float) -> bool:
    """Reserve a review that is due, unless another has it."""
    now_us = to_us(tx.now)
    return bool(
        tx.execute(
            "update grading.review set claimed_by = :by, claimed_until_us = :until_us"
            " where submission_id = :id and final is null and (claimed_by is null"
            " or claimed_by = :by or claimed_until_us <= :now_us)",
            {
                "id": submission_id,
                "by": by,
                "now_us": now_us,
                "until_us": to_us(tx.now + timedelta(seconds=for_s)),
            },
        )
    )


def release_review(tx: Transaction, submission_id: str, *, by: str) -> bool:
    """Give a reserved review back."""
    return bool(
        tx.execute(
            "update grading.review set claimed_by = null, claimed_until_us = null"
            " where submission_id = :id and claimed_by = :by and final is null",
            {"id": submission_id, "by": by},
        )
    )


def finish_review(
    tx: Transaction, submission_id: str, *, by: str, human: dict[str, Any], final: dict[str, Any]
) -> bool:
    """Keep a teacher's grade and the final result, unless there is one already."""
    return bool(
        tx.execute(
            "update grading.review set reviewer = :by, human = :human, final = :final,"
            " reviewed_at_us = :now_us where submission_id = :id and final is null"
            " and (claimed_by is null or claimed_by = :by or claimed_until_us <= :now_us)",
            {
                "id": submission_id,
                "by": by,
                "human": json.dumps(human),
                "final": json.dumps(final),
                "now_us": to_us(tx.now),
            },
        )
    )


def _review_of(row: dict[str, Any]) -> ReviewRow:
    return ReviewRow(
        submission_id=row["submission_id"],
        urgency=row["urgency"],
        created_at=from_us(row["created_at_us"]),
        claimed_by=row["claimed_by"],
        claimed_until=_time(row["claimed_until_us"]),
        reviewer=row["reviewer"],
        human=None if row["human"] is None else json.loads(row["human"]),
        final=None if row["final"] is None else json.loads(row["final"]),
        reviewed_at=_time(row["reviewed_at_us"]),
    )


def _time(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)


def note_seen(tx: Transaction, name: str) -> None:
    """Keep that something was noticed now."""
    tx.execute(
        "insert into grading.seen as known (name, at_us) values (:name, :at_us)"
        " on conflict (name) do update set at_us = excluded.at_us"
        " where known.at_us < excluded.at_us",
        {"name": name, "at_us": to_us(tx.now)},
    )


def last_seen(db: Reading, name: str) -> datetime | None:
    """Return when something was last noticed."""
    row = db.row("select at_us from grading.seen where name = :name", {"name": name})
    return None if row is None else from_us(row["at_us"])


def secret_of(app: Holdfast, name: str, *, fresh: str) -> str:
    """Return the secret of a name; `fresh` becomes it where there is none."""
    values = {"name": name, "value": fresh}
    with app.transaction() as tx:
        tx.execute(
            "insert into grading.secret (name, value) values (:name, :value)"
            " on conflict (name) do nothing",
            values,
        )
        row = tx.row("select value from grading.secret where name = :name", values)
    return fresh if row is None else str(row["value"])
