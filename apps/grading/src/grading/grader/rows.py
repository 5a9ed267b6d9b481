"""Requests that the grader has taken, as its tables keep them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from grading.messages.contract import GradingRequest
from grading.messages.outgoing import Addressee
from grading.tables.many import row_values
from grading.tables.times import listed, to_us
from holdfast.transactions import Reading, Transaction


class RequestRow(NamedTuple):
    """A request, with the newest right to answer it."""

    request_id: str
    submission_id: str
    job_id: str
    attempt: int
    served_attempt: int
    """The latest attempt of main that a run of the job is, or was, for."""
    callback_token: str
    trace_id: str | None
    answering: bool
    """Whether its end is being published: a newer right to answer came too late for that."""
    answered_token: str | None
    """The right to answer that an end was last published to, or is being."""

    @property
    def addressee(self) -> Addressee:
        """Whom callbacks go to."""
        return Addressee(self.request_id, self.submission_id, self.callback_token, self.trace_id)


def read_request(db: Reading, request_id: str) -> RequestRow | None:
    """Return a request that was taken before."""
    row = db.row("select * from grading.request where request_id = :id", {"id": request_id})
    return None if row is None else _row(row)


def read_requests(db: Reading, request_ids: Sequence[str]) -> dict[str, RequestRow]:
    """Return those of some requests that were taken before, by id."""
    names, values = listed(list(request_ids))
    rows = db.rows(f"select * from grading.request where request_id in ({names})", values)  # noqa: S608 - placeholders
    return {row["request_id"]: _row(row) for row in rows}


def store_requests(
    tx: Transaction,
    requests: Sequence[tuple[GradingRequest, str]],
    *,
    is_new: bool,
    is_served: bool = False,
) -> list[RequestRow]:
    """Keep requests with the ids of their jobs; return them as they are kept, in their order.

    A right to answer is replaced unless a later attempt has brought one. `is_served` says that a
    run of the job is under way. The rows are locked until the transaction ends.
    """
    given, values = row_values([_inserted(request, job_id, tx.now) for request, job_id in requests])
    rows = tx.rows(
        "insert into grading.request as known (request_id, submission_id, job_id, attempt,"  # noqa: S608 - placeholders
        " served_attempt, callback_token, trace, answering, received_at_us)"
        f" values {given}"
        " on conflict (request_id) do update set"
        " callback_token = case when excluded.attempt >= known.attempt"
        " then excluded.callback_token else known.callback_token end,"
        " attempt = case when excluded.attempt >= known.attempt"
        " then excluded.attempt else known.attempt end,"
        " served_attempt = case when :is_served = 1 and known.answering = 0"
        " and excluded.attempt > known.served_attempt"
        " then excluded.attempt else known.served_attempt end,"
        " job_id = excluded.job_id,"
        " answering = case when :is_new = 1 then 0 else known.answering end"
        " returning *",
        {**values, "is_new": int(is_new), "is_served": int(is_served)},
    )
    kept = {row["request_id"]: _row(row) for row in rows}
    return [kept[str(request.requestId)] for request, _ in requests]


def _inserted(request: GradingRequest, job_id: str, now: datetime) -> dict[str, Any]:
    to = Addressee.of(request)
    return {
        "id": to.request_id,
        "submission_id": to.submission_id,
        "job_id": job_id,
        "attempt": request.attempt,
        "served_attempt": request.attempt,
        "token": to.callback_token,
        "trace": to.trace_id,
        "answering": 0,
        "now_us": to_us(now),
    }


def begin_answering(tx: Transaction, request_id: str) -> RequestRow | None:
    """Return whom the end of a job goes to; from here on the intake sees to newer rights."""
    row = tx.row(
        "update grading.request set answering = 1, answered_token = callback_token"
        " where request_id = :id returning *",
        {"id": request_id},
    )
    return None if row is None else _row(row)


def end_answering(tx: Transaction, request_id: str) -> None:
    """Have the next result go to the newest right again, when a request is graded once more."""
    tx.execute(
        "update grading.request set answering = 0 where request_id = :id", {"id": request_id}
    )


def note_served(tx: Transaction, request_id: str, *, attempt: int) -> None:
    """Keep that a run of the job is for this attempt of main."""
    tx.execute(
        "update grading.request set served_attempt = :attempt"
        " where request_id = :id and served_attempt < :attempt",
        {"id": request_id, "attempt": attempt},
    )


def _row(row: dict[str, Any]) -> RequestRow:
    return RequestRow(
        row["request_id"],
        row["submission_id"],
        row["job_id"],
        row["attempt"],
        row["served_attempt"],
        row["callback_token"],
        row["trace"],
        bool(row["answering"]),
        row["answered_token"],
    )
