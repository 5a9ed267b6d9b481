"""Reviews as pages and programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from criticizer.critique import Critique
from criticizer.payload import MAX_NAME, MAX_RECIPIENTS, MAX_VERSION
from criticizer.pipeline import FETCH_STAGE, LLM_STAGE
from criticizer.reviews import Made, Reviews, review_of
from criticizer.statuses import delivery_status_of, status_of
from holdfast import JobView
from holdfast.deliveries import DeliveryView
from holdfast.jobs import Disclosure

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Address = Annotated[
    str,
    StringConstraints(
        max_length=254, pattern=r"^[^\s<>@,;:\"()\[\]\\\x00-\x1f]+@[^\s<>@,;:\"()\[\]\\\x00-\x1f]+$"
    ),
]


class AskedFor(BaseModel):
    """A change that is to be reviewed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    changelist_id: Name
    """A name such as HEAD~1..HEAD is pinned to the commits that it stands for now."""
    review_version: int = Field(ge=1, le=MAX_VERSION, strict=True)
    recipients: list[Address] = Field(default_factory=list, max_length=MAX_RECIPIENTS)
    """Who is to be notified; each of them once. Nobody, if it is left out."""
    idempotency_key: Name
    """The same key always names the same review, whatever else is said."""
    rerun: bool = Field(default=False, strict=True)
    """Whether a change that has been reviewed is to be reviewed again, under a higher version."""


class Told(BaseModel):
    """How far one recipient has been notified."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    delivery_id: str
    """Under which `/api/deliveries` has its log."""
    recipient: str
    """As it may be shown."""
    status: str
    """`pending`, `sending`, `sent`, `failed` or `unknown`."""
    notification_id: str | None
    notified_at: datetime | None
    attempts: int
    error_class: str | None


class Failed(BaseModel):
    """Why a review failed."""

    error_class: str
    message: str


class ReviewDocument(BaseModel):
    """One version of the review of a change."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    job_id: str
    changelist_id: str
    """The change, with its commits by their hashes."""
    named: str
    """What it was called by who asked, where that was a name such as HEAD; else empty."""
    repository: str
    commits: list[str]
    """The commits that it is pinned to; none where it has an id of another kind."""
    review_version: int
    status: str
    """`in_progress`, `retryable_failed`, `succeeded`, `dead_lettered` or `cancelled`."""
    stage: str
    """`fetch`, `llm` or `notify`."""
    attempt: int
    """Which attempt of that stage this is, or was."""
    title: str
    url: str | None
    created_at: datetime
    finished_at: datetime | None
    reviewer: str | None
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: str | None
    critique: Critique | None
    recipients: int
    """How many are notified, or are to be."""
    deliveries: list[Told]
    error: Failed | None
    removed_at: datetime | None
    """When its data was removed: then only its version, status and times are known."""


class ReviewAnswer(ReviewDocument):
    """The review that a request stands for."""

    replayed: bool
    """Whether it was there already."""
    differs: list[str]
    """What the first request of the same key had otherwise; the first one counts."""


class ReviewVersions(BaseModel):
    """The reviews of a change, the highest version first."""

    changelist_id: str
    versions: list[ReviewDocument]


class ReviewList(BaseModel):
    """Reviews, newest first."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    items: list[ReviewDocument]
    next: str | None
    """What `before` has to be for those after them."""


def documents_of(
    views: Sequence[JobView], reviews: Reviews, shown: Disclosure
) -> list[ReviewDocument]:
    """Return reviews as they stand, with what may be seen of their failures."""
    results, told = reviews.results_of(views), reviews.told(views)
    return [
        ReviewDocument(
            **_values(
                shown.job(view),
                results[view.id],
                [shown.delivery(each) for each in told[view.id]],
            )
        )
        for view in views
    ]


def answer_of(made: Made, reviews: Reviews, shown: Disclosure) -> ReviewAnswer:
    """Return what a request is answered with."""
    (document,) = documents_of([made.job], reviews, shown)
    return ReviewAnswer(**dict(document), replayed=not made.created, differs=list(made.differs))


def _values(view: JobView, results: dict[str, Any], told: Sequence[DeliveryView]) -> dict[str, Any]:
    fetched: dict[str, Any] = results.get(FETCH_STAGE) or {}
    reviewed: dict[str, Any] = results.get(LLM_STAGE) or {}
    error, review = view.error, review_of(view)
    return {
        "job_id": view.id,
        "changelist_id": view.job.key,
        "named": review.named,
        "repository": review.repository,
        "commits": review.commits,
        "review_version": view.job.version,
        "status": status_of(view, told),
        "stage": view.job.stage,
        "attempt": view.job.attempt,
        "title": fetched.get("title", ""),
        "url": fetched.get("url"),
        "created_at": view.created_at,
        "finished_at": view.finished_at,
        "reviewer": reviewed.get("reviewer"),
        "calls": reviewed.get("calls"),
        "input_tokens": reviewed.get("input_tokens"),
        "output_tokens": reviewed.get("output_tokens"),
        "cost_usd": reviewed.get("cost_usd"),
        "critique": reviewed.get("critique"),
        "recipients": len(review.recipients),
        "deliveries": [_told(each) for each in told],
        "error": None
        if error is None
        else Failed(error_class=error["error_class"], message=error["message"]),
        "removed_at": view.removed_at,
    }


def _told(view: DeliveryView) -> Told:
    row = view.to_document()
    return Told(
        delivery_id=view.id,
        recipient=view.recipient,
        status=delivery_status_of(view.state),
        notification_id=row["notification_id"],
        notified_at=row["notified_at"],
        attempts=row["attempts"],
        error_class=row["error_class"],
    )
