"""notion-client. Its `code` is a word; the status is what counts.

Other network errors come through as those of httpx.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from holdfast.classify.http.status import verdict_of_response
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import CONFLICT, INVALID, TIMEOUT
from holdfast.core.values.instant import Instant

_FEW: Final = replace(CONFLICT, attempts=3)


def _verdict_of_answer(error: BaseException, now: Instant) -> Verdict | None:
    """By status; a write that collided passes soon or not at all."""
    verdict = verdict_of_response(error, now)
    return _FEW if verdict is CONFLICT else verdict


NOTION: Final[tuple[Rule, ...]] = (
    Rule("notion_client.RequestTimeoutError", TIMEOUT),
    Rule("notion_client.HTTPResponseError", _verdict_of_answer),
    Rule("notion_client.InvalidPathParameterError", INVALID),
)
