"""What is found out about a collaboration, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, get_args

MAX_PERSON: Final = 100
MAX_COMPANY: Final = 200
MAX_DETAILS: Final = 2_000
MAX_SUMMARY: Final = 2_000
CUT: Final = " […]"
Intensity = Literal["이해", "협력", "투자", "인수"]
INTENSITIES: Final[tuple[Intensity, ...]] = get_args(Intensity)
"""From getting to know each other to an acquisition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure each field is, from 0 to 1."""

    person: float = 0.0
    startup: float = 0.0
    partner: float = 0.0
    details: float = 0.0
    date: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 <= value <= 1:
                raise ValueError(f"the confidence of {name} is {value}, and not from 0 to 1")

    @property
    def lowest(self) -> float:
        """The least sure of them."""
        return min(self.person, self.startup, self.partner, self.details, self.date)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call of a model took."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a mail says about a collaboration; None is what it does not say."""

    person_in_charge: str | None
    startup_name: str | None
    partner_org: str | None
    details: str
    date: date | None
    confidence: Confidence
    collaboration_intensity: Intensity | None
    summary: str
    matched_company_id: str | None = None
    matched_partner_id: str | None = None
    extractor: str
    """`gemini` or `rules`."""
    model: str = ""
    usage: Usage = Usage()
    review: Sequence[str] = ()
    """Why a person should look at it, besides low confidence."""

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        found = asdict(self)
        found["date"] = self.date.isoformat() if self.date else None
        found["review"] = list(self.review)
        return found


@dataclass(frozen=True, slots=True)
class Company:
    """A company that a mail may be about."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractTask:
    """A mail to look into: its cleaned text, and what else is known of it."""

    text: str
    subject: str = ""
    sender: str = ""
    """The name of who wrote it."""
    sent_at: datetime | None = None
    companies: Sequence[Company] = ()
    """Those whose ids an answer may have."""


def cut(text: str, *, limit: int) -> str:
    """Return a text of at most so many characters, cut between words and marked."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(CUT) + 1]
    space = max(kept.rfind(" "), kept.rfind("\n"))
    kept = kept[:space] if space > limit // 2 else kept[:-1]
    return kept.rstrip() + CUT
