"""From an error of the engine to a problem: one table, by class; the nearest ancestor counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from holdfast import errors
from holdfast.api.problems import KINDS, Flaw, Problem

CODES: Final[Mapping[type[errors.HoldfastError], str]] = MappingProxyType(
    {
        errors.UsageError: "invalid_request",
        errors.InvalidValue: "invalid_value",
        errors.InvalidPolicy: "invalid_value",
        errors.InvalidSetting: "internal_error",
        errors.InvalidDocument: "invalid_document",
        errors.UnknownPipeline: "pipeline_unknown",
        errors.PipelineClosed: "pipeline_closed",
        errors.PipelineNeeded: "conflict",
        errors.UnknownJob: "job_not_found",
        errors.UnknownLetter: "dead_letter_not_found",
        errors.UnknownMessage: "message_not_found",
        errors.UnknownReplay: "replay_not_found",
        errors.UnknownUpstream: "upstream_not_found",
        errors.UnknownProvider: "provider_unknown",
        errors.UnknownDelivery: "delivery_not_found",
        errors.UnknownWorker: "worker_not_found",
        errors.UnknownToken: "token_not_found",
        errors.TokenRefused: "callback_refused",
        errors.TopologyMismatch: "internal_error",
        errors.HandlerStuck: "internal_error",
        errors.SchemaTooNew: "store_not_ready",
        errors.SchemaTooOld: "store_not_ready",
        errors.SchemaMissing: "store_not_ready",
        errors.StatementRefused: "internal_error",
        errors.ForkedProcess: "internal_error",
        errors.ConflictError: "conflict",
        errors.StaleRevision: "conflict",
        errors.KeyConflict: "key_conflict",
        errors.VersionConflict: "version_conflict",
        errors.WrongState: "wrong_state",
        errors.RetryRefused: "retry_refused",
        errors.RetryNotAllowed: "retry_not_allowed",
        errors.StepMissing: "step_missing",
        errors.DeliveryMoved: "wrong_state",
        errors.ConstraintViolated: "internal_error",
        # A route of a program that asks for a result says itself what its user is to read.
        errors.JobFailed: "internal_error",
        errors.JobCancelled: "internal_error",
        errors.UnavailableError: "unavailable",
        errors.QueueFull: "queue_full",
        errors.StoreUnavailable: "store_unavailable",
        errors.StoreCorrupt: "store_damaged",
        errors.ReadTooSlow: "read_too_slow",
        errors.ResultTimeout: "unavailable",
        errors.CircuitOpen: "circuit_open",
    }
)

_NOT_THERE: Final = "check the id; what belongs to another owner is not shown either"
_TOLD: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        # In words of their own where the engine speaks to a Python programmer, or names a place.
        "job_not_found": lambda _: f"no job has that id; {_NOT_THERE}",
        "dead_letter_not_found": lambda _: f"no dead letter has that id; {_NOT_THERE}",
        "delivery_not_found": lambda _: f"no delivery has that id; {_NOT_THERE}",
        "replay_not_found": lambda _: f"no replay has that id; {_NOT_THERE}",
        "message_not_found": lambda _: f"no message has that id; {_NOT_THERE}",
        "pipeline_unknown": lambda error: (
            "no pipeline has that name; known here: " + (", ".join(error.known) or "none")
        ),
        "provider_unknown": lambda error: (
            "name one of the providers known here: " + (", ".join(error.known) or "none")
        ),
        "store_unavailable": lambda _: "the database cannot be reached; try again in a moment",
        "store_damaged": lambda _: "the database is damaged; an operator has to restore it",
        "store_not_ready": lambda _: (
            "the database has another schema than this server; an operator has to migrate it, "
            "or to upgrade the server"
        ),
    }
)
_FACTS: Final = ("job_id", "state", "allowed", "missing", "requested", "found", "known", "limit_s")
_MALFORMED: Final = "json_invalid"


def problem_of(error: errors.HoldfastError) -> Problem | None:
    """Return an error as a problem; None when it is nobody's business but this server's."""
    code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    if code == "internal_error":
        return None
    told = _TOLD.get(code)
    found = vars(error)
    facts: dict[str, Any] = {}
    if KINDS[code].status in {409, 422}:
        facts = {name: found[name] for name in _FACTS if name in found}
    headers: dict[str, str] = {}
    if isinstance(error, errors.CircuitOpen) and error.wait_s is not None:
        headers["Retry-After"] = str(max(1, round(error.wait_s)))
    return Problem(
        code,
        str(error) if told is None else told(error),
        errors=_flaws(error),
        headers=headers,
        **facts,
    )


def _flaws(error: errors.HoldfastError) -> list[Flaw]:
    match error:
        case errors.InvalidValue():
            return [Flaw(f"/{error.field}", f"must be {error.limit}")]
        case errors.InvalidDocument():
            return [Flaw(f"/{error.what}{error.path}", f"must be {error.limit}")]
        case _:
            return []


def problem_of_http(error: HTTPException) -> Problem:
    """Return what the framework raises by itself as a problem."""
    code = {
        400: "malformed_request",
        401: "credentials_missing",
        403: "role_missing",
        404: "not_found",
        405: "method_not_allowed",
        413: "body_too_large",
        415: "unsupported_media_type",
    }.get(error.status_code, "internal_error")
    told = {
        "malformed_request": "the body or the form cannot be read; check how it is encoded",
        "not_found": "nothing is served under this path; /api/reference lists what is",
        "method_not_allowed": "this path does not take that method; the header Allow lists those "
        "it does",
    }.get(code, KINDS[code].title)
    return Problem(code, told, headers=dict(error.headers or {}))


def problem_of_validation(error: RequestValidationError) -> Problem:
    """Return what a request fails to be, place by place, without what was sent."""
    found = error.errors()
    if any(flaw["type"] == _MALFORMED for flaw in found):
        return Problem(
            "malformed_body",
            f"the body is not JSON from character {found[0]['loc'][-1]} on; send a JSON document",
        )
    flaws = [Flaw(_pointer(flaw["loc"]), _message(flaw)) for flaw in found]
    places = ", ".join(flaw.pointer or "the body" for flaw in flaws[:3])
    return Problem("invalid_request", f"correct {places}; see errors", errors=flaws)


def _pointer(place: tuple[str | int, ...]) -> str:
    where, *rest = place
    # Of a body that may be one of several things, it names in parentheses which was meant.
    places = [part for part in rest if not str(part).startswith("(")]
    kept = places if where == "body" else [where, *places]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in kept)


def _message(flaw: Mapping[str, Any]) -> str:
    if flaw["type"] == "extra_forbidden":
        return "is not known here; leave it out"
    return str(flaw["msg"])
