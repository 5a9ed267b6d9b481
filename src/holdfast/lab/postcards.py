"""Postcards: a small system to watch, on two upstreams that are never real.

A card is drawn, printed by the printer, and handed to the post office, which tells under which
number it travels. Both are called over HTTP, and both fail as the lab says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.values.retry import Retry
from holdfast.engine.submit.submission import Submit
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.attempts.attempt import JobContext
from holdfast.systems import Answer, Call, Parts, StandIn, System

PRINTER: Final = "printer"
POST_OFFICE: Final = "post-office"
PRINTER_VARIABLE: Final = "POSTCARDS_PRINTER_URL"
POST_OFFICE_VARIABLE: Final = "POSTCARDS_POST_OFFICE_URL"
PIPELINE: Final = "postcards"
NOBODY: Final = "nobody at all"
"""To whom a card can be printed by no printer."""

_TIMEOUT_S: Final = 3.0
_PEOPLE: Final = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Leslie")
_VIEWS: Final = ("harbour", "lighthouse", "old town", "mountain", "ferry", "market", "castle")
_UNPRINTABLE: Final = 422

# An outage is noticed within a second or two and over a few seconds after it is: who watches
# has not much time. Attempts are plenty, because trials are made by jobs and cost them one each.
_BREAKER: Final = Breaker(consecutive=4, cooldown=4, growth=1.5, cooldown_cap=15, release=4)
_RETRY: Final = Retry(attempts=8, base=1, cap=8)


@dataclass(frozen=True, slots=True)
class Card:
    """The payload: who gets a picture of what."""

    to: str
    picture: str


def cards(count: int, *, first: int = 1) -> Iterator[Submit]:
    """Yield so many cards to submit."""
    for number in range(first, first + count):
        to = _PEOPLE[number % len(_PEOPLE)]
        yield Submit(payload={"to": to, "picture": _VIEWS[number % len(_VIEWS)]})


def unprintable() -> Submit:
    """Return a card that fails for good, whatever the upstreams are like."""
    return Submit(payload={"to": NOBODY, "picture": _VIEWS[0]})


def pipeline(*, printer_url: str, post_office_url: str) -> Pipeline:
    """Return the pipeline, calling these addresses."""
    printer = Upstream(PRINTER, timeout=_TIMEOUT_S + 1, retry=_RETRY, breaker=_BREAKER)
    post_office = Upstream(POST_OFFICE, timeout=_TIMEOUT_S + 1, retry=_RETRY, breaker=_BREAKER)
    postcards = Pipeline(PIPELINE, queue=PIPELINE, payload=Card)

    @postcards.stage
    def draw(job: JobContext, to: str, picture: str) -> str:  # noqa: ARG001 - the job comes first
        return f"Dear {to}, wish you were here. ({picture})"

    @postcards.stage(name="print", calls=printer)
    def print_card(job: JobContext, to: str, draw: str) -> int:
        sheet: int = _call(f"{printer_url}/sheets", {"to": to, "text": draw}, job)["sheet"]
        return sheet

    @postcards.stage(calls=post_office)
    def post(job: JobContext, to: str) -> dict[str, Any]:
        return _call(f"{post_office_url}/letters", {"to": to}, job)

    return postcards


def _build(environment: Mapping[str, str]) -> Parts:
    made = pipeline(
        printer_url=environment[PRINTER_VARIABLE],
        post_office_url=environment[POST_OFFICE_VARIABLE],
    )
    return Parts(pipelines=(made,))


def _call(url: str, document: Mapping[str, Any], job: JobContext) -> dict[str, Any]:
    request = Request(  # noqa: S310 - the address of a stand-in
        url,
        data=json.dumps(document).encode(),
        headers={"Content-Type": "application/json", "Idempotency-Key": job.idempotency_token},
        method="POST",
    )
    try:
        with urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310 - as above
            answer: dict[str, Any] = json.load(response)
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    return answer


def _print(call: Call) -> Answer:
    document = json.loads(call.body or b"{}")
    if document.get("to") == NOBODY:
        return Answer(_UNPRINTABLE, b'{"error": "the address cannot be read"}')
    return Answer(body=json.dumps({"sheet": len(call.body)}).encode())


def _post(call: Call) -> Answer:
    number = call.headers.get("idempotency-key", "")[-8:].upper()
    return Answer(body=json.dumps({"letter": f"HF-{number}"}).encode())


SYSTEM: Final = System(
    name="postcards",
    title="Postcards",
    summary="Draws, prints and posts cards, on upstreams that fail when you tell them to.",
    build=_build,
    stand_ins=(
        StandIn(upstream=PRINTER, variable=PRINTER_VARIABLE, answer=_print),
        StandIn(upstream=POST_OFFICE, variable=POST_OFFICE_VARIABLE, answer=_post),
    ),
)
