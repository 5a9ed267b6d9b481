"""The JSON Schemas of the records agree with the records, rule by rule."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from collabiq import (
    GEMINI_RETRY_CONFIG,
    GMAIL_RETRY_CONFIG,
    INFISICAL_RETRY_CONFIG,
    NOTION_RETRY_CONFIG,
    CircuitBreakerState,
    DLQEntry,
    ErrorRecord,
)
from holdfast import UsageError

CONTRACTS = Path(__file__).parents[2] / "contracts"
NAMES = ("error_record", "dlq_entry", "retry_config", "circuit_breaker_state")
AT = "2025-11-06T10:15:22.123Z"
ERROR: dict[str, Any] = {
    "timestamp": AT,
    "severity": "ERROR",
    "category": "TRANSIENT",
    "message": "Gmail did not answer",
    "error_type": "socket.timeout",
    "stack_trace": None,
    "context": {"email_id": "19a3f3f856f0b4d4", "operation": "gmail_fetch"},
    "http_status": None,
    "retry_count": 2,
}
ENTRY: dict[str, Any] = {
    "dlq_id": "dlq_20251106_101522_abc123",
    "email_id": "19a3f3f856f0b4d4",
    "operation_type": "notion_write",
    "status": "pending",
    "original_payload": {"database_id": "db_123", "properties": {}},
    "error_details": {"error_type": "E", "error_message": "m", "retry_count": 3},
    "created_at": AT,
    "last_attempt": "2025-11-06T10:15:45.789Z",
    "replayed_at": None,
    "processed": False,
}
BREAKER = CircuitBreakerState("gmail").to_json()
RETRY = GMAIL_RETRY_CONFIG.to_json()


def schema_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CONTRACTS / f"{name}.schema.json").read_text("utf-8"))
    return found


def is_valid(name: str, document: object) -> bool:
    return jsonschema_rs.validator_for(schema_of(name), validate_formats=True).is_valid(document)


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_one(name: str):
    assert jsonschema_rs.meta.is_valid(schema_of(name))


def test_there_is_a_schema_of_each_record_and_of_nothing_else():
    assert {path.name for path in CONTRACTS.iterdir()} == {f"{n}.schema.json" for n in NAMES}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("error_record", ErrorRecord.from_json(ERROR).to_json()),
        ("dlq_entry", DLQEntry.from_json(ENTRY).to_json()),
        ("circuit_breaker_state", BREAKER),
        (
            "circuit_breaker_state",
            CircuitBreakerState(
                "notion", "OPEN", open_timestamp=datetime(2026, 1, 1, tzinfo=UTC)
            ).to_json(),
        ),
        ("retry_config", GMAIL_RETRY_CONFIG.to_json()),
        ("retry_config", GEMINI_RETRY_CONFIG.to_json()),
        ("retry_config", NOTION_RETRY_CONFIG.to_json()),
        ("retry_config", INFISICAL_RETRY_CONFIG.to_json()),
    ],
)
def test_what_a_record_writes_is_valid(name: str, document: dict[str, Any]):
    schema = schema_of(name)

    assert is_valid(name, document)
    assert list(document) == list(schema["properties"])
    assert set(schema["required"]) <= set(document)


def error_of(document: dict[str, Any]) -> object:
    return ErrorRecord.from_json(document)


def breaker_of(document: dict[str, Any]) -> object:
    return CircuitBreakerState(**document)


BROKEN: list[tuple[str, Callable[[dict[str, Any]], object], dict[str, Any]]] = [
    *(
        ("error_record", error_of, {**ERROR, field: value})
        for field, value in (
            ("timestamp", "yesterday"),
            ("severity", "FATAL"),
            ("category", "ODD"),
            ("message", ""),
            ("message", "  "),
            ("context", {"operation": "x"}),
            ("context", {"email_id": "1"}),
            ("retry_count", -1),
            ("retry_count", 1.5),
        )
    ),
    *(
        ("dlq_entry", DLQEntry.from_json, {**ENTRY, field: value})
        for field, value in (
            ("dlq_id", "abc"),
            ("dlq_id", "dlq_20251106_101522_../x"),
            ("email_id", ""),
            ("email_id", "../x"),
            ("operation_type", "fax_send"),
            ("status", "lost"),
            ("original_payload", {}),
            ("original_payload", []),
            ("error_details", {"error_type": "E", "error_message": "m"}),
            ("error_details", {"error_type": "E", "error_message": "m", "retry_count": -1}),
            ("created_at", "soon"),
            ("processed", 1),
        )
    ),
    *(
        ("circuit_breaker_state", breaker_of, {**BREAKER, field: value})
        for field, value in (
            ("service_name", "fax"),
            ("state", "AJAR"),
            ("failure_count", -1),
            ("success_count", -1),
            ("failure_threshold", 0),
            ("success_threshold", 0),
            ("timeout", 0),
        )
    ),
]


@pytest.mark.parametrize(("name", "make", "document"), BROKEN)
def test_what_a_record_refuses_is_not_valid(
    name: str, make: Callable[[dict[str, Any]], object], document: dict[str, Any]
):
    with pytest.raises(UsageError):
        make(document)

    assert not is_valid(name, document)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", 0),
        ("timeout", 0),
        ("retryable_exceptions", []),
        ("backoff_min", -1),
        ("jitter_max", -1),
        ("respect_retry_after", "yes"),
    ],
)
def test_a_retry_configuration_that_makes_no_sense_is_not_valid(field: str, value: object):
    assert not is_valid("retry_config", {**RETRY, field: value})


@pytest.mark.parametrize(("name", "document"), [("error_record", ERROR), ("dlq_entry", ENTRY)])
def test_a_required_field_that_is_missing_is_refused_by_both(name: str, document: dict[str, Any]):
    make = error_of if name == "error_record" else DLQEntry.from_json
    for field in schema_of(name)["required"]:
        less = {key: value for key, value in document.items() if key != field}
        assert not is_valid(name, less), field
        if field not in ("stack_trace", "context"):
            with pytest.raises(UsageError):
                make(less)
