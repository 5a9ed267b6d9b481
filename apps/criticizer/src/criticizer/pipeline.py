"""The pipelines of the criticizer.

`review` fetches a change, has it reviewed and tells everyone; `review-request` keeps what was asked
for under which idempotency key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from criticizer.change import MAX_KEPT_BYTES, Change
from criticizer.critique import Critique
from criticizer.mail.message import message_of
from criticizer.payload import Asked, Review
from criticizer.reviewers.contract import Reviewer
from criticizer.reviewers.rules import REVIEWER_RULES
from criticizer.sources.contract import Source
from criticizer.sources.errors import ChangeTooLarge
from criticizer.sources.rules import SOURCE_RULES
from holdfast import Breaker, JobContext, Pipeline, Retry, Upstream
from holdfast.deliveries import Notify

REVIEW: Final = "review"
REQUEST: Final = "review-request"
SUBMIT_AT: Final = "POST /api/reviews"
CHANGES: Final = "changes"
LLM: Final = "llm"
MAIL: Final = "mail"
FETCH_STAGE: Final = "fetch"
LLM_STAGE: Final = "llm"

_MARGIN_S: Final = 5.0
"""How much longer the engine waits for a call than the call itself: its own limit says more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a review is carried out. Times are in seconds."""

    retry: Retry
    breaker: Breaker
    fetch_timeout_s: float
    llm_timeout_s: float
    sender: str
    provider: str


def review_pipeline(*, source: Source, reviewer: Reviewer, terms: Terms) -> Pipeline:
    """Return the pipeline of reviews; every stage has the whole budget of `terms.retry`."""
    pipeline = Pipeline(
        REVIEW,
        payload=Review,
        retry=terms.retry,
        retry_by="workflow",
        submit_by="system",
        submit_at=SUBMIT_AT,
    )
    changes = Upstream(
        CHANGES,
        timeout=terms.fetch_timeout_s + _MARGIN_S,
        rules=SOURCE_RULES,
        breaker=terms.breaker,
    )
    model = Upstream(
        LLM, timeout=terms.llm_timeout_s + _MARGIN_S, rules=REVIEWER_RULES, breaker=terms.breaker
    )

    @pipeline.stage(calls=changes)
    def fetch(job: JobContext, payload: Review) -> dict[str, Any]:
        change = source.fetch(
            payload.changelist_id, timeout_s=terms.fetch_timeout_s, headers=job.trace_headers
        )
        document = change.to_document()
        if len(document["packed"]) > MAX_KEPT_BYTES:
            raise ChangeTooLarge(
                f"the change takes {len(document['packed'])} bytes packed, "
                f"and may take {MAX_KEPT_BYTES}"
            )
        return document

    @pipeline.stage(calls=model)
    def llm(job: JobContext, fetch: dict[str, Any]) -> dict[str, Any]:
        reviewed = reviewer.review(
            Change.from_document(fetch),
            timeout_s=terms.llm_timeout_s,
            repair=job.attempt > 1,
            token=job.idempotency_token,
            headers=job.trace_headers,
        )
        return reviewed.to_document()

    @pipeline.stage
    def notify(
        _job: JobContext, payload: Review, fetch: dict[str, Any], llm: dict[str, Any]
    ) -> Notify | dict[str, Any]:
        if not payload.recipients:
            return {"sent": 0, "failed": 0, "deliveries": []}
        return Notify(
            subject=payload.changelist_id,
            version=payload.review_version,
            recipients=payload.recipients,
            provider=terms.provider,
            message=message_of(
                payload,
                critique=Critique.model_validate(llm["critique"]),
                title=fetch["title"],
                url=fetch["url"],
                reviewer=llm["reviewer"],
                sender=terms.sender,
            ),
        )

    return pipeline


def request_pipeline() -> Pipeline:
    """Return the pipeline of what was asked for: its jobs hold keys, and there is nothing to do.

    With a key it is remembered for good which review it stands for; nobody's address is.
    """
    pipeline = Pipeline(
        REQUEST,
        payload=Asked,
        retry_by="workflow",
        submit_by="system",
        submit_at=SUBMIT_AT,
        remembers=["changelist_id", "review_version", "rerun", "named"],
    )

    @pipeline.stage
    def keep(_job: JobContext) -> None:
        pass

    return pipeline
