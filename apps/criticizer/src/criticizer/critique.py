"""What a review says: a summary, and findings that each name a place and how bad it is."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["info", "warning", "error"]
MAX_FINDINGS = 500
MAX_TEXT = 8_000


class Finding(BaseModel):
    """One remark on a change; `line` is of the new file, and None for the file as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    file: str = Field(max_length=1_000)
    line: int | None = Field(ge=1)
    severity: Severity
    message: str = Field(min_length=1, max_length=MAX_TEXT)
    suggestion: str | None = Field(max_length=MAX_TEXT)


class Critique(BaseModel):
    """A whole review."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    summary: str = Field(min_length=1, max_length=MAX_TEXT)
    findings: list[Finding] = Field(max_length=MAX_FINDINGS)
