"""What a grader found in an answer. It holds no score: scores are computed from it by code."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Level = Annotated[int, Field(ge=0, le=5)]
"""How well a criterion is met: 0 not at all, 5 as well as can be expected at C1."""
Quote = Annotated[str, Field(max_length=400)]
Line = Annotated[str, Field(max_length=400)]


class _Found(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class RequirementFound(_Found):
    """Whether one requirement of the task is met, and where."""

    requirement: Line
    met: bool
    quote: Quote = ""


class LevelFound(_Found):
    """How well one criterion is met, with a place that shows it."""

    criterion: Annotated[str, Field(max_length=40)]
    level: Level
    quote: Quote = ""
    reason: Line = ""


class ErrorFound(_Found):
    """A mistake, by the words as they stand in the text."""

    quote: Quote
    kind: Literal["grammar", "spelling", "vocabulary", "punctuation", "register", "other"] = "other"
    message: Line
    suggestion: Line | None = None


class Evidence(_Found):
    """Everything that scores are computed from."""

    requirements: Annotated[list[RequirementFound], Field(max_length=20)] = Field(
        default_factory=list
    )
    positionClear: bool = True  # noqa: N815 - as models are asked for it
    onTopic: bool = True  # noqa: N815 - as above
    irrelevant: Annotated[list[Quote], Field(max_length=20)] = Field(default_factory=list)
    levels: Annotated[list[LevelFound], Field(max_length=10)] = Field(default_factory=list)
    errors: Annotated[list[ErrorFound], Field(max_length=100)] = Field(default_factory=list)
    strengths: Annotated[list[Line], Field(max_length=10)] = Field(default_factory=list)
    weaknesses: Annotated[list[Line], Field(max_length=10)] = Field(default_factory=list)
    suggestions: Annotated[list[Line], Field(max_length=10)] = Field(default_factory=list)
