"""The journal of paid calls: what came back is kept before anything reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from grading.calls import RawAnswer
from grading.tables.times import day_start, to_us
from holdfast import Holdfast, JobContext
from holdfast.transactions import Transaction

COST_LIMIT: Final = "COST_LIMIT"
"""Why a stage puts a request off: its calls may cost no more today."""
MAX_CALLS: Final = 3
"""A call and two more with a repair, where the answer does not fit."""


class Known(NamedTuple):
    """What the journal holds of a stage's calls."""

    first: int
    """The number of the first call whose answer is not given up."""
    answers: Mapping[int, RawAnswer]


class Journal:
    """Keeps the answers to paid calls, so that a later attempt pays for none of them again."""

    def __init__(self, app: Callable[[], Holdfast]) -> None:
        self._app = app

    def read(self, job: JobContext) -> Known:
        """Return what is known of the calls of this stage."""
        with self._app().reading() as db:
            rows = db.rows(
                "select * from grading.answer where call = :call order by number",
                {"call": job.idempotency_token},
            )
        return Known(
            sum(bool(row["spent"]) for row in rows),
            {
                row["number"]: RawAnswer(row["body"], row["provider"], json.loads(row["usage"]))
                for row in rows
                if row["answered_at_us"] is not None
            },
        )

    def call(
        self,
        job: JobContext,
        *,
        number: int,
        make: Callable[[str], RawAnswer],
        also: Callable[[Transaction], None] = lambda _tx: None,
    ) -> RawAnswer:
        """Make a call and keep its answer; that it is made is written first.

        `make` gets the token of the call, which is the same for every attempt at it. `also` writes
        more in the transaction that says that the call is made. A call that
        was answered with an error is forgotten. One of which nothing is known stays: it may have
        been charged.
        """
        token = job.idempotency_token if number == 0 else f"{job.idempotency_token}:{number}"
        self._begin(job, token, number, also)
        try:
            raw = make(token)
        except Exception as error:
            if getattr(error, "status_code", None) is not None:
                self._forget(token)
            raise
        self._end(token, raw)
        return raw

    def _begin(
        self, job: JobContext, token: str, number: int, also: Callable[[Transaction], None]
    ) -> None:
        with self._app().transaction() as tx:
            also(tx)
            tx.execute(
                "insert into grading.answer (token, call, job_id, number, spent, called_at_us, usd)"
                " values (:token, :call, :job_id, :number, 0, :now_us, 0)"
                " on conflict (token) do update set called_at_us = excluded.called_at_us",
                {
                    "token": token,
                    "call": job.idempotency_token,
                    "job_id": job.id,
                    "number": number,
                    "now_us": to_us(tx.now),
                },
            )

    def _forget(self, token: str) -> None:
        with self._app().transaction(one_statement=True) as tx:
            tx.execute(
                "delete from grading.answer where token = :token and answered_at_us is null",
                {"token": token},
            )

    def _end(self, token: str, raw: RawAnswer) -> None:
        with self._app().transaction(one_statement=True) as tx:
            tx.execute(
                "update grading.answer set answered_at_us = :now_us, provider = :provider,"
                " body = :body, usage = :usage, usd = :usd"
                " where token = :token and answered_at_us is null",
                {
                    "token": token,
                    "now_us": to_us(tx.now),
                    "provider": raw.provider,
                    "body": raw.body.replace("\x00", ""),
                    "usage": json.dumps(raw.usage),
                    "usd": float(raw.usage.get("usd", 0.0)),
                },
            )

    def give_up(self, job: JobContext) -> None:
        """Have the answers of this stage not count for a later attempt: none of them fits."""
        with self._app().transaction(one_statement=True) as tx:
            tx.execute(
                "update grading.answer set spent = 1 where call = :call",
                {"call": job.idempotency_token},
            )

    def usage_of(self, job_id: str) -> dict[str, Any]:
        """Return what all calls of a job took, those included whose answers did not fit."""
        with self._app().reading() as db:
            rows = db.rows(
                "select usage from grading.answer where job_id = :job_id and usage is not null",
                {"job_id": job_id},
            )
        used = [json.loads(row["usage"]) for row in rows]
        return {
            "usd": round(sum(float(each.get("usd", 0.0)) for each in used), 8),
            "inputTokens": sum(int(each.get("inputTokens", 0)) for each in used),
            "outputTokens": sum(int(each.get("outputTokens", 0)) for each in used),
        }

    def spent_today_usd(self) -> float:
        """Return what the calls of this day have cost."""
        with self._app().reading() as db:
            row = db.row(
                "select coalesce(sum(usd), 0) as usd from grading.answer"
                " where called_at_us >= :since_us",
                {"since_us": to_us(day_start(db.now))},
            )
        return float(row["usd"]) if row else 0.0
