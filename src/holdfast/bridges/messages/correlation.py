"""How a request says by whom and where it may be answered, in the way that AMQP has for it.

The right to answer is the callback token, and it travels in the payload. Programs that answer by
AMQP's own means look at the message's properties instead, so what the payload says stands there,
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from holdfast.core.values.document import decode
from holdfast.errors import InvalidDocument
from holdfast.runtime.outbox.answer import Outcome

TOKEN_FIELD: Final = "callback_token"  # noqa: S105 - the name of a field
_TOKEN_FIELDS: Final = (TOKEN_FIELD, "callbackToken")
"""As it is called here, and in messages whose fields are in camel case."""
RESULT_FIELD: Final = "result"
OUTCOME_FIELD: Final = "outcome"
LONGEST_ID: Final = 255
"""How many bytes a property of AMQP may have."""


class Correlation(NamedTuple):
    """What a message belongs to."""

    id: str
    """The callback token, which a reply sends back."""
    asks: bool
    """Whether it is the request; else it is the reply."""


def correlation_of(payload: str) -> Correlation | None:
    """Return the correlation of a message by its payload; None where it has no token.

    A token that is too long for a property travels in the payload alone.
    """
    if not any(f'"{field}"' in payload for field in _TOKEN_FIELDS):
        return None
    try:
        document = decode(payload)
    except InvalidDocument:
        return None
    if not isinstance(document, dict):
        return None
    token = next((document[field] for field in _TOKEN_FIELDS if field in document), None)
    if not isinstance(token, str) or not token or len(token.encode()) > LONGEST_ID:
        return None
    return Correlation(token, asks=not _answers(document))


def _answers(document: Mapping[str, object]) -> bool:
    """Return whether a payload with a token is a reply: it has a result, or names its outcome."""
    return RESULT_FIELD in document or document.get(OUTCOME_FIELD) in tuple(Outcome)
