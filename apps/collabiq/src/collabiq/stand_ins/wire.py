"""What the stand-ins share: answers as their originals give them, and how calls are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast.systems import Answer, Call

Answering = Callable[[Call], Answer]


class Lost(ConnectionAbortedError):
    """The connection ends, and the answer with it."""


class Refused(Exception):
    """Ends the handling of a call with an answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(f"answered {answer.status}")


def json_answer(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an answer with a document."""
    return Answer(status, json.dumps(document, ensure_ascii=False).encode(), headers=headers or {})


def document_of(call: Call) -> dict[str, Any] | None:
    """Return the object that a call has as its body, or None."""
    try:
        found = json.loads(call.body or b"{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def path_of(call: Call) -> list[str]:
    """Return the parts of the path."""
    return [unquote(part) for part in urlsplit(call.path).path.split("/") if part]


def query_of(call: Call) -> dict[str, str]:
    """Return the parameters of the query, the first of each name."""
    return {name: values[0] for name, values in parse_qs(urlsplit(call.path).query).items()}


def losing(answer: Answering) -> Answering:
    """Return what does all of it, and then drops the connection."""

    def lost(call: Call) -> Answer:
        """Does what is asked, and the answer is lost on the way."""
        answer(call)
        raise Lost("the answer is lost on the way")

    return lost


def bearer_of(call: Call) -> str:
    """Return the token that a call brings, or nothing."""
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


NO_SUCH_ROUTE: Final = json_answer({"message": "There is no such route here."}, 404)
