"""The result of a grading, as the callback carries it and the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

WRITING_CRITERIA: Final = ("taskFulfillment", "organization", "vocabulary", "grammar")
SPEAKING_CRITERIA: Final = ("grammar", "vocabulary", "pronunciation", "fluency", "discourse")
MAX_SCORE: Final = 10.0
Band = Literal["B1", "B2", "C1"]


def band_of(score: float) -> Band | None:
    """Return the band of an overall score; None is below B1."""
    if score < 4.0:  # noqa: PLR2004 - the scale of the rubric
        return None
    if score < 6.0:  # noqa: PLR2004 - as above
        return "B1"
    return "B2" if score < 8.5 else "C1"  # noqa: PLR2004 - as above


def _half_step(value: float) -> float:
    if value * 2 != int(value * 2):
        raise ValueError("must be a multiple of 0.5")
    return value


Score = Annotated[float, Field(ge=0, le=MAX_SCORE), AfterValidator(_half_step)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Feedback(_Part):
    """What went well and what did not, for people."""

    strengths: list[str] = Field(default_factory=list)
    weaknesses: list[str] = Field(default_factory=list)
    suggestions: list[str] = Field(default_factory=list)


class Annotation(_Part):
    """A place in the text: `offset` and `length` count characters."""

    offset: Annotated[int, Field(ge=0)]
    length: Annotated[int, Field(ge=1)]
    message: str
    suggestion: str | None = None


class Speech(_Part):
    """How a learner spoke."""

    seconds: Annotated[float, Field(ge=0)]
    wordsPerMinute: Annotated[float, Field(ge=0)]  # noqa: N815 - as it is on the wire
    pauses: Annotated[int, Field(ge=0)]
    longestPauseSeconds: Annotated[float, Field(ge=0)]  # noqa: N815 - as above


class Cost(_Part):
    """What the paid calls took."""

    usd: Annotated[float, Field(ge=0)] = 0.0
    inputTokens: Annotated[int, Field(ge=0)] = 0  # noqa: N815 - as above
    outputTokens: Annotated[int, Field(ge=0)] = 0  # noqa: N815 - as above


class Result(_Part):
    """Scores, computed by code from evidence, with the reasons for them."""

    overallScore: Score  # noqa: N815 - as above
    band: Band | None
    criteriaScores: dict[str, Score]  # noqa: N815 - as above
    feedback: Feedback = Field(default_factory=Feedback)
    annotations: list[Annotation] = Field(default_factory=list)
    confidenceScore: Annotated[int, Field(ge=0, le=100)]  # noqa: N815 - as above
    reviewRequired: bool = False  # noqa: N815 - as above
    reviewPriority: Literal["Medium", "High", "Critical"] | None = None  # noqa: N815 - as above
    auditFlag: bool = False  # noqa: N815 - as above
    gradingMode: Literal["auto", "hybrid", "human"] = "auto"  # noqa: N815 - as above
    caps: list[str] = Field(default_factory=list)
    wordCount: Annotated[int, Field(ge=0)] = 0  # noqa: N815 - as above
    rubricVersion: int = 1  # noqa: N815 - as above
    grader: str
    gradedAt: datetime  # noqa: N815 - as above
    cost: Cost = Field(default_factory=Cost)
    basis: dict[str, str] = Field(default_factory=dict)
    """What a criterion rests on that was not measured, such as `{"pronunciation": "estimate"}`."""
    transcript: str | None = None
    speech: Speech | None = None
    audioFlags: list[str] = Field(default_factory=list)  # noqa: N815 - as above
    details: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _band_fits_score(self) -> Result:
        if self.band != band_of(self.overallScore):
            raise ValueError(f"band {self.band} does not fit the score {self.overallScore}")
        return self
