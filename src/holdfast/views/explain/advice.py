"""Whose move a failure is, by its error class: the one table of console, commands and API.

A class says what went wrong, and often who can mend it; where it does not say what kind of cause it
was, none is suggested, and a person decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.core.values.failure import Category, ErrorClass

RUNBOOK: Final = "docs/runbook.md"
REMEDIES: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        Cause.TRANSIENT: "See that the upstream has recovered and has room for the work",
        Cause.DATA: "Correct the data at its source, or how it is mapped",
        Cause.AUTH_CONFIG: "Put credentials, permissions or endpoints right",
        Cause.CODE_DEFECT: "Deploy a fix that was tried elsewhere first",
    }
)
"""What removes a cause of each kind."""


class Mover(StrEnum):
    """Who can do something about a failure."""

    UPSTREAM = "upstream"
    """Those who run what was called."""
    OPERATOR = "operator"
    """Those who run this application."""
    DEVELOPER = "developer"
    """Those who write its code."""
    SUBMITTER = "submitter"
    """Those who sent the data."""
    OPEN = "open"
    """Nobody can tell from the class alone."""
    NOBODY = "nobody"
    """It goes on by itself."""


MOVERS: Final[Mapping[Mover, str]] = MappingProxyType(
    {
        Mover.UPSTREAM: "those who run the upstream",
        Mover.OPERATOR: "the operators of this application",
        Mover.DEVELOPER: "the developers of this application",
        Mover.SUBMITTER: "those who sent the data",
        Mover.OPEN: "not clear from the error class: look at the message first",
        Mover.NOBODY: "nobody: it goes on by itself",
    }
)


def whose_move(mover: Mover) -> str | None:
    """Return a sentence that says whose move it is; None where it is nobody's."""
    return None if mover is Mover.NOBODY else f"Whose move: {MOVERS[mover]}."


class Advice(NamedTuple):
    """Whose move it is, what kind of cause it looks like, and what to do."""

    mover: Mover
    cause: Cause | None
    """None where the class leaves it open."""
    action: str
    section: str
    """The heading of the runbook that says more, as a link names it."""

    @property
    def runbook(self) -> str:
        """Where to read on, by file and heading."""
        return f"{RUNBOOK}#{self.section}"

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "whose_move": self.mover.value,
            "suggested_cause": None if self.cause is None else self.cause.value,
            "what_to_do": self.action,
            "runbook": self.runbook,
        }


_DOWN: Final = Advice(
    Mover.UPSTREAM,
    Cause.TRANSIENT,
    "See that the upstream answers again, then replay the group.",
    "an-upstream-is-down",
)
_LIMITED: Final = Advice(
    Mover.OPERATOR,
    Cause.TRANSIENT,
    "Lower how much is called at a time, then replay the group at a rate.",
    "an-upstream-is-slow",
)
_DENIED: Final = Advice(
    Mover.OPERATOR,
    Cause.AUTH_CONFIG,
    "Renew the credential or the permission, or correct the address, then replay the group.",
    "a-failure-is-critical",
)
_DATA: Final = Advice(
    Mover.SUBMITTER,
    Cause.DATA,
    "Have the data corrected at its source and sent anew, then dismiss the letter.",
    "many-failures",
)
_DEFECT: Final = Advice(
    Mover.DEVELOPER,
    Cause.CODE_DEFECT,
    "Find the place in the stack, deploy a fix, then replay the group.",
    "a-failure-is-critical",
)
_LOST: Final = Advice(
    Mover.OPERATOR,
    None,
    "Find out what ended the worker: memory, a deploy, or this very job. Then replay it.",
    "a-worker-was-lost",
)


def _open(action: str, section: str, mover: Mover = Mover.OPEN) -> Advice:
    return Advice(mover, None, action, section)


BY_CLASS: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        ErrorClass.NETWORK_TIMEOUT: _DOWN,
        ErrorClass.NETWORK: _DOWN,
        ErrorClass.UPSTREAM_5XX: _DOWN,
        ErrorClass.CIRCUIT_OPEN: _DOWN,
        ErrorClass.RATE_LIMITED: _LIMITED,
        ErrorClass.QUOTA_EXCEEDED: _open(
            "Wait until the quota is renewed, or have it raised, then replay the group.",
            "deliveries-are-late",
            Mover.OPERATOR,
        ),
        ErrorClass.AUTH_DENIED: _DENIED,
        ErrorClass.NOT_FOUND: _open(
            "Compare what was asked for with the answer: the data names what is not there, or the "
            "address is wrong.",
            "many-failures",
        ),
        ErrorClass.INVALID: _DATA,
        ErrorClass.CONTENT_POLICY: _DATA,
        ErrorClass.PAYLOAD_INVALID: _DATA,
        ErrorClass.CONFLICT: _open(
            "Look at what is there already: it may be done, or somebody else is at it.",
            "many-failures",
        ),
        ErrorClass.IO_ERROR: _open(
            "Look at the worker's own machine: disk, files, permissions. Then replay the group.",
            "many-failures",
            Mover.OPERATOR,
        ),
        ErrorClass.SATURATED: Advice(
            Mover.OPERATOR,
            Cause.TRANSIENT,
            "Give the worker's own pools more room, or less to do at a time, then replay.",
            "backlog",
        ),
        ErrorClass.PROCESS_FAILED: _open(
            "Read what the program that was run has said, in the message or the answer.",
            "many-failures",
        ),
        ErrorClass.BUG: _DEFECT,
        ErrorClass.RESULT_INVALID: _DEFECT,
        ErrorClass.HANDLER_STOPPED: _DEFECT,
        ErrorClass.SNOOZED_TOO_OFTEN: _open(
            "Find out what the stage waits for: it postponed itself as often as it may.",
            "many-failures",
        ),
        ErrorClass.WORKER_LOST: _LOST,
        ErrorClass.WORKER_CRASH: _LOST,
        ErrorClass.STAGE_TIMEOUT: _open(
            "Find out whether the upstream was slow or the handler hung; a longer timeout helps "
            "only the first.",
            "handlers-hang",
        ),
        ErrorClass.CALLBACK_TIMEOUT: _open(
            "Ask those who were to answer whether they got the request.",
            "nobody-answers",
            Mover.UPSTREAM,
        ),
        ErrorClass.TIMEOUT: _open(
            "See in the history where the time went, and whether the result is still wanted.",
            "deadlines-are-at-risk",
        ),
        ErrorClass.EVIDENCE_MISSING: _open(
            "Ask the provider whether it has the message, then resolve the delivery.",
            "a-delivery-is-unknown",
            Mover.OPERATOR,
        ),
        ErrorClass.WITHDRAWN: _open(
            "A person gave the delivery up: dismiss the letter, or replay it to send again.",
            "dead-letters-pile-up",
            Mover.OPERATOR,
        ),
    }
)
UNSURE: Final = _open("Read the message and the answer, then triage.", "dead-letters-pile-up")
"""Of a failure that nothing is known about."""
_REFUSED_STATUSES: Final = frozenset({401, 403, 407})
_FIRST_SERVER_STATUS: Final = 500


IN_DOUBT: Final = _open(
    "Find out whether the message arrived, and mark the delivery as sent or have it sent again; "
    "then replay the letter.",
    "a-delivery-is-unknown",
    Mover.OPERATOR,
)
"""Of a failure that left a delivery of which nobody knows whether it arrived."""


def advice_on(
    error_class: str, *, category: Category, http_status: int | None, in_doubt: bool = False
) -> Advice:
    """Return the advice for a failure; of a class that is not ours, by what else is known."""
    if in_doubt:
        return IN_DOUBT
    known = BY_CLASS.get(error_class)
    if known is not None:
        return known
    if http_status in _REFUSED_STATUSES:
        return _DENIED
    if http_status is not None and http_status >= _FIRST_SERVER_STATUS:
        return _DOWN
    if category is Category.TRANSIENT:
        return UNSURE._replace(cause=Cause.TRANSIENT)
    return UNSURE
