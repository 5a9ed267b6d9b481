"""What each stage returns, and what jobs are made with; the engine keeps it as JSON.

Times are texts in ISO 8601 with an offset, dates are `YYYY-MM-DD`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class EmailPayload(TypedDict):
    """Of a job of `email` or `upload`."""

    email_id: str


class CorrectionPayload(TypedDict):
    """Of a job of `correction`."""

    email_id: str
    extraction: ExtractionResult
    """The whole extraction as it is to be, with a person's fields in it."""
    by: str


class InboxPayload(TypedDict):
    """Of a job of `inbox`: a poll."""

    mailbox: str
    start_history_id: str | None


class AddressDocument(TypedDict):
    """A name and an e-mail address."""

    name: str
    address: str


class AttachmentDocument(TypedDict):
    """A file with a mail, which is listed and not read."""

    name: str
    media_type: str
    size_bytes: int
    inline: bool


FetchResult = TypedDict(
    "FetchResult",
    {
        "email_id": str,
        "subject": str,
        "from": AddressDocument,
        "to": list[AddressDocument],
        "cc": list[AddressDocument],
        "date": str | None,
        "received_at": str | None,
        "message_id": str,
        "thread_id": str,
        "text": str,
        "attachments": list[AttachmentDocument],
        "size_bytes": int,
        "authentication": Literal["pass", "fail", "none"],
        "limits_met": list[str],
        "skip": str | None,
    },
)
"""Of `gmail_fetch` and `read`. `skip` is why nothing more is done with the mail, such as
`automatic: report`, `duplicate of <email_id>`, `gone` or `too large`; None for one that goes on.
Of a mail that is gone or too large the other fields are empty."""


class RemovedDocument(TypedDict):
    """What was cut away of a text, and what it was taken for."""

    kind: str
    text: str


class CleanResult(TypedDict):
    """Of `clean`."""

    text: str
    removed: list[RemovedDocument]
    language: str
    empty: bool
    skip: str | None
    """Why nothing more is done with the mail, or None."""


class ConfidenceDocument(TypedDict):
    """How sure each field is, from 0 to 1."""

    person: float
    startup: float
    partner: float
    details: float
    date: float


class UsageDocument(TypedDict):
    """What a call of a model took."""

    input_tokens: int
    output_tokens: int
    usd: float


class ExtractionResult(TypedDict):
    """Of `gemini_extract`; None for a mail that is skipped."""

    person_in_charge: str | None
    startup_name: str | None
    partner_org: str | None
    details: str
    date: str | None
    confidence: ConfidenceDocument
    collaboration_intensity: str | None
    summary: str
    matched_company_id: str | None
    matched_partner_id: str | None
    extractor: str
    """`gemini` or `rules`."""
    model: str
    usage: UsageDocument
    review: list[str]
    """Why a person should look at it, besides low confidence."""


class CandidateDocument(TypedDict):
    """A name that may be meant, and how well it fits, from 0 to 1."""

    id: str
    name: str
    score: float


class MatchedDocument(TypedDict):
    """What one name was matched with."""

    name: str | None
    """As the mail has it."""
    found: CandidateDocument | None
    alternatives: list[CandidateDocument]
    ambiguous: bool
    sure: bool


class MatchResult(TypedDict):
    """Of `match`; None for a mail that is skipped."""

    startup: MatchedDocument
    partner: MatchedDocument
    person: MatchedDocument
    type: str
    """The kind of the collaboration, as the option of the schema that has its letter."""
    database_id: str
    properties: dict[str, Any]
    """Of the row, as Notion takes them."""
    missing_columns: list[str]
    lost_columns: list[str]
    """Those of them that would have got a value."""
    new_companies: dict[str, str]
    """The names for which companies are made, by `startup` and `partner`."""
    similar: list[str]
    """Other mails about the same two companies within a week."""
    review: list[str]
    """Every reason why a person should look at the row."""


class WriteResult(TypedDict):
    """Of `notion_write`."""

    outcome: Literal["created", "adopted", "updated", "skipped"]
    page_id: str | None
    url: str | None
    status: str
    """How the mail stands then."""
    reason: str | None
    """Why it was skipped."""
    review: list[str]


class PollResult(TypedDict):
    """Of `gmail_poll`."""

    kind: Literal["history", "full"]
    found: int
    """How many mails Gmail named."""
    new: int
    """How many of them were not known."""
    history_id: str
    more: NotRequired[bool]
    """Whether not all of them were taken yet."""


class DirectoryResult(TypedDict):
    """Of `notion_directory`."""

    columns: int
    companies: int
    people: int
