"""From what a model answered to an extraction, or why it is none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, cast

from collabiq.extract.evidence import ENOUGH, occurs
from collabiq.extract.prompt import CONFIDENCES
from collabiq.extract.record import (
    INTENSITIES,
    MAX_COMPANY,
    MAX_DETAILS,
    MAX_PERSON,
    MAX_SUMMARY,
    Confidence,
    Extraction,
    ExtractTask,
    Intensity,
    Usage,
    cut,
)
from collabiq.mail.text import one_line, plain

MAX_ANSWER: Final = 200_000
"""Characters of an answer; a whole one has a tenth of that."""
_FENCE: Final = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


class AnswerInvalid(Exception):
    """An answer is not a valid extraction; `why` may go into the prompt of the next call."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class AnswerBlocked(AnswerInvalid):
    """The model would not answer."""


def read_answer(
    text: str, task: ExtractTask, *, extractor: str, model: str = "", usage: Usage | None = None
) -> Extraction:
    """Return what an answer says about a mail; raises `AnswerInvalid`.

    What is too long is cut. An id that was not given is left out, and the mail is one to look at;
    so is one whose details do not stand in it.
    """
    reading = _Reading(_document(text), task)
    details = cut(plain(reading.text("details")).strip(), limit=MAX_DETAILS)
    if occurs(details, f"{task.subject}\n{task.text}") < ENOUGH:
        reading.review.append("the details do not stand in the mail")
    return Extraction(
        person_in_charge=reading.name("person_in_charge", limit=MAX_PERSON),
        startup_name=reading.name("startup_name", limit=MAX_COMPANY),
        partner_org=reading.name("partner_org", limit=MAX_COMPANY),
        details=details,
        date=reading.date(),
        confidence=reading.confidence(),
        collaboration_intensity=reading.intensity(),
        summary=cut(plain(reading.text("summary")).strip(), limit=MAX_SUMMARY),
        matched_company_id=reading.id("matched_company_id"),
        matched_partner_id=reading.id("matched_partner_id"),
        extractor=extractor,
        model=model,
        usage=usage or Usage(),
        review=tuple(reading.review),
    )


def _document(text: str) -> Mapping[str, Any]:
    if len(text) > MAX_ANSWER:
        raise AnswerInvalid(f"it is longer than {MAX_ANSWER} characters")
    fenced = _FENCE.match(text)
    inner = fenced[1] if fenced else text
    begins, ends = inner.find("{"), inner.rfind("}")
    if begins < 0 or ends < begins:
        raise AnswerInvalid("it is no JSON object")
    try:
        found = json.loads(inner[begins : ends + 1])
    except (ValueError, RecursionError):
        raise AnswerInvalid("it is no whole JSON object") from None
    if not isinstance(found, dict):
        raise AnswerInvalid("it is no JSON object")
    return found


@dataclass(slots=True)
class _Reading:
    """Takes the fields out of a document, and notes what a person should look at."""

    document: Mapping[str, Any]
    task: ExtractTask
    review: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        found = self.document.get(name)
        if not isinstance(found, str):
            raise AnswerInvalid(f"{name} is no text")
        return found

    def name(self, name: str, *, limit: int) -> str | None:
        found = self.document.get(name)
        if found is None:
            return None
        if not isinstance(found, str):
            raise AnswerInvalid(f"{name} is neither a text nor null")
        return one_line(found, limit=limit) or None

    def date(self) -> date | None:
        found = self.document.get("date")
        if found is None or found == "":
            return None
        try:
            return date.fromisoformat(str(found)[:10])
        except ValueError:
            self.review.append("the date is no date")
            return None

    def intensity(self) -> Intensity | None:
        found = self.document.get("collaboration_intensity")
        if found not in INTENSITIES:
            raise AnswerInvalid(f"collaboration_intensity is none of {', '.join(INTENSITIES)}")
        return cast("Intensity", found)

    def confidence(self) -> Confidence:
        found = self.document.get("confidence")
        if not isinstance(found, Mapping):
            raise AnswerInvalid("confidence is no object")
        values = {}
        for name in CONFIDENCES:
            value = found.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise AnswerInvalid(f"confidence.{name} is no number")
            if not math.isfinite(value) or not 0 <= value <= 1:
                raise AnswerInvalid(f"confidence.{name} is not from 0 to 1")
            values[name] = float(value)
        return Confidence(**values)

    def id(self, name: str) -> str | None:
        """Return an id that was given; the name of one company stands for its id."""
        found = self.document.get(name)
        if found is None or found == "":
            return None
        given = self.task.companies
        if any(each.id == found for each in given):
            return str(found)
        named = [each.id for each in given if each.name.casefold() == str(found).casefold().strip()]
        if len(named) == 1:
            return named[0]
        self.review.append(f"{name} was none of the ids that were given")
        return None
