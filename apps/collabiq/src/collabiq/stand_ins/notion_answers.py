"""What Notion answers when it refuses, in its words."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from collabiq.stand_ins.wire import Answering, Refused, json_answer
from holdfast.systems import Answer, Call


def error(
    status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an error as Notion words it."""
    document = {
        "object": "error",
        "status": status,
        "code": code,
        "message": message,
        "request_id": "00000000-0000-4000-8000-000000000000",
    }
    return json_answer(document, status, headers)


def always(status: int, code: str, message: str) -> Answering:
    """Return what refuses every call."""

    def refuse(_call: Call) -> Answer:
        return error(status, code, message)

    refuse.__doc__ = f"Answers {status} {code}."
    return refuse


def rate_limited(_call: Call) -> Answer:
    """Answers 429 and asks for a pause of 30 seconds."""
    words = "You have been rate limited. Please try again in a few minutes."
    return error(429, "rate_limited", words, headers={"Retry-After": "30"})


def missing(what: str, given: str) -> Any:  # noqa: ANN401 - never returns
    """Refuse a call for something that is not there."""
    words = (
        f"Could not find {what} with ID: {given}. Make sure the relevant pages and databases are "
        "shared with your integration."
    )
    raise Refused(error(404, "object_not_found", words))


def id_of(given: str) -> str:
    """Return an id with its dashes, or as it was given."""
    try:
        return str(uuid.UUID(given))
    except ValueError:
        return given
