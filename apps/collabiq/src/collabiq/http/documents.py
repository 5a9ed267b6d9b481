"""What is sent to the API and what it answers, as the description of the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from collabiq.extract.record import INTENSITIES, MAX_COMPANY, MAX_DETAILS, MAX_PERSON, MAX_SUMMARY
from collabiq.failures.dlq import MAX_AT_ONCE

Operation = Literal["gmail_fetch", "gemini_extract", "notion_write", "infisical_fetch"]


class _Sent(BaseModel):
    """A body: other fields and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class _Shown(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True, populate_by_name=True)


class EmailItem(_Shown):
    """A mail, as lists have it."""

    email_id: str
    subject: str | None
    sender: str | None = Field(alias="from")
    received_at: datetime | None
    noticed_at: datetime
    updated_at: datetime
    source: Literal["gmail", "upload"]
    version: int
    """Rises with every run from the start."""
    status: Literal["pending", "processing", "processed", "needs_review", "skipped", "failed"]
    stage: str | None
    """Where it is, or where it failed."""
    reason: str | None
    """Why it was skipped, waits, or failed."""
    review: list[str]
    """Why a person should look at it."""
    startup_name: str | None
    partner_org: str | None
    person_in_charge: str | None
    date: str | None
    details: str | None
    """The beginning of it."""
    confidence: float | None
    """The lowest of its fields'."""
    page_url: str | None
    dlq_id: str | None


class EmailList(_Shown):
    """Mails, newest first."""

    emails: list[EmailItem]
    next: str | None
    """The cursor of the next page; good for this list alone."""


class EmailDocument(EmailItem):
    """All that is known of a mail; what a stage has not found yet is null."""

    mail: dict[str, Any] | None
    """Headers, the list of attachments, and what Gmail says of its authenticity."""
    cleaned: dict[str, Any] | None
    """`text`, `removed` with what each part was taken for, `language`, `empty`."""
    extraction: dict[str, Any] | None
    """The fields with their confidences, the extractor, the model and what it took."""
    matches: dict[str, Any] | None
    """`startup`, `partner` and `person` with scores and alternatives, `type`, `similar`."""
    page: dict[str, Any]
    """`page_id`, `url`, and the outcome: created, adopted, updated or skipped."""
    correction: dict[str, Any] | None
    """Who corrected it last, when, and how that stands."""
    history: list[dict[str, Any]]
    errors: list[dict[str, Any]]


class PollDocument(_Shown):
    """A poll of the mailbox."""

    model_config = ConfigDict(extra="allow")

    poll_id: str
    joined: bool
    """Whether it was under way already."""


CORRECTION_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": False,
                    "properties": {
                        "person_in_charge": {"type": ["string", "null"], "maxLength": MAX_PERSON},
                        "startup_name": {"type": ["string", "null"], "maxLength": MAX_COMPANY},
                        "partner_org": {"type": ["string", "null"], "maxLength": MAX_COMPANY},
                        "details": {"type": "string", "maxLength": MAX_DETAILS},
                        "summary": {"type": "string", "maxLength": MAX_SUMMARY},
                        "date": {"type": ["string", "null"], "format": "date"},
                        "collaboration_intensity": {"enum": [*INTENSITIES, None]},
                        "matched_company_id": {
                            "type": ["string", "null"],
                            "description": "One of those that were found for the start-up.",
                        },
                        "matched_partner_id": {
                            "type": ["string", "null"],
                            "description": "One of those that were found for the partner.",
                        },
                    },
                }
            }
        },
    }
}


class DeadLetterDocument(_Shown):
    """A dead letter, as its file has it."""

    dlq_id: str
    email_id: str
    operation_type: Operation
    status: Literal["pending", "replaying", "completed", "failed"]
    original_payload: dict[str, Any]
    """What a replay sends."""
    error_details: dict[str, Any]
    created_at: datetime
    last_attempt: datetime
    replayed_at: datetime | None
    processed: bool


class DeadLetterList(_Shown):
    """Dead letters, oldest first."""

    entries: list[DeadLetterDocument]


class ReplaySent(_Sent):
    """How many dead letters of which operation are replayed, the oldest first."""

    operation_type: Operation
    max_count: int = Field(default=10, ge=1, le=MAX_AT_ONCE)


class ReplayedDocument(_Shown):
    """What became of a replay of many."""

    success: int
    failed: int
    skipped: int
    refused: list[dict[str, Any]]
    """Files that cannot be sent: `path` and `why`; they are among `failed`."""


class CompletionSent(_Sent):
    """How a dead letter was seen to by hand."""

    reason: str = Field(max_length=1_000)


class ErrorList(_Shown):
    """Records of errors, newest first."""

    errors: list[dict[str, Any]]


class CircuitList(_Shown):
    """The breakers of the four services."""

    circuits: list[dict[str, Any]]


class ServiceDocument(_Shown):
    """How a service is."""

    service: Literal["gmail", "gemini", "notion", "infisical"]
    state: Literal["OPERATIONAL", "DEGRADED", "UNAVAILABLE"]
    reason: str | None
    next_step: str | None
    """What to do about it."""
    critical: bool
    """Whether it does not get better by itself."""
    circuit: Literal["CLOSED", "OPEN", "HALF_OPEN"]
    next_call_at: datetime | None


class StatusDocument(_Shown):
    """How the system is."""

    at: datetime
    mailbox: str | None
    services: list[ServiceDocument]
    critical: list[dict[str, Any]]
    """What a person has to do now: `service`, `sentence`, `next_step`."""
    today: dict[str, int]
    """How many mails that came today stand how, and `total`."""
    totals: dict[str, int]
    last_poll: dict[str, Any] | None
    poll_interval_s: float
    token: dict[str, Any]
    """Whether there are credentials of Gmail, their age, and whether Google refuses them."""
    cost_today_usd: float
    extractor: dict[str, Any]
    confidence_threshold: float
    files: dict[str, Any]


class RulesDocument(_Shown):
    """Which field goes to which column of the database."""

    read_at: datetime | None
    """When the columns were read of Notion; null before the first time."""
    database_id: str | None
    fields: list[dict[str, Any]]
    confidence_threshold: float
    creates_companies: bool
    duplicate_strategy: Literal["skip", "update"]


class SettingDocument(_Shown):
    """A setting."""

    name: str
    value: Any
    """Masked where it is a secret; null where there is none."""
    source: Literal["infisical", "cache", "env_file", "environment", "default", "unset"]
    secret: bool


class ConfigDocument(_Shown):
    """Every setting, by name."""

    settings: list[SettingDocument]
