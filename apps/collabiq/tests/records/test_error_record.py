"""Each rule of an error record has a test that breaks it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collabiq import ErrorCategory, ErrorRecord, ErrorSeverity
from holdfast.error_log import ErrorLog
from holdfast.errors import InvalidDocument, InvalidValue

WHEN = datetime(2025, 11, 6, 10, 15, 22, 123_000, tzinfo=UTC)


def a_record(**changes: object) -> ErrorRecord:
    facts: dict[str, object] = {
        "timestamp": WHEN,
        "severity": ErrorSeverity.ERROR,
        "category": ErrorCategory.TRANSIENT,
        "message": "Gmail did not answer in time",
        "error_type": "socket.timeout",
        "stack_trace": "Traceback (most recent call last):\n  File…",
        "context": {"email_id": "19a3f3f856f0b4d4", "operation": "gmail_fetch"},
        "retry_count": 2,
    }
    return ErrorRecord(**facts | changes)


RULES = {
    "timestamp that is no moment": ("timestamp", "yesterday"),
    "timestamp that is a number": ("timestamp", 7),
    "severity that is unknown": ("severity", "FATAL"),
    "category that is unknown": ("category", "ODD"),
    "message that is empty": ("message", ""),
    "message of blanks": ("message", " \n"),
    "context without email_id": ("context", {"operation": "gmail_fetch"}),
    "context without operation": ("context", {"email_id": "19a3"}),
    "context that is a list": ("context", ["email_id", "operation"]),
    "retry_count that is negative": ("retry_count", -1),
    "retry_count that is no whole number": ("retry_count", 1.5),
    "retry_count that is true": ("retry_count", True),
}


@pytest.mark.parametrize(("field", "value"), RULES.values(), ids=RULES)
def test_a_record_that_breaks_a_rule_is_refused_by_the_name_of_its_field(field: str, value: object):
    with pytest.raises(InvalidValue) as raised:
        a_record(**{field: value})

    assert raised.value.field == field
    with pytest.raises(InvalidDocument):
        ErrorRecord.from_json({**a_record().to_json(), field: value})


def test_its_severities_and_categories_are_a_closed_list():
    assert [each.value for each in ErrorSeverity] == [
        "DEBUG",
        "INFO",
        "WARNING",
        "ERROR",
        "CRITICAL",
    ]
    assert {each.value for each in ErrorCategory} == {"TRANSIENT", "PERMANENT", "CRITICAL"}


def test_a_record_is_read_as_it_was_written():
    record = a_record(http_status=503)

    document = json.loads(json.dumps(record.to_json()))

    assert list(document) == [
        "timestamp",
        "severity",
        "category",
        "message",
        "error_type",
        "stack_trace",
        "context",
        "http_status",
        "retry_count",
    ]
    assert ErrorRecord.from_json(document) == record
    assert type(ErrorRecord.from_json(document)) is ErrorRecord


def test_what_has_a_default_may_be_left_out():
    record = ErrorRecord(
        WHEN, "INFO", "PERMANENT", "m", "E", None, {"email_id": "1", "operation": "o"}
    )

    assert (record.http_status, record.retry_count) == (None, 0)


def test_it_stands_under_its_severity_and_its_mail(tmp_path: Path):
    path = ErrorLog(tmp_path, subject="email_id").write(a_record())

    name = "error_20251106T101522123000Z_19a3f3f856f0b4d4.json"
    assert path == tmp_path / "logs" / "ERROR" / name
    assert [json.loads(line) for line in path.read_text().splitlines()] == [a_record().to_json()]


@pytest.mark.parametrize("email_id", ["../../etc/passwd", "a/b", "..", "a\x00b", "x" * 500])
def test_no_email_id_leads_out_of_the_folder(tmp_path: Path, email_id: str):
    record = a_record(context={"email_id": email_id, "operation": "gmail_fetch"})

    path = ErrorLog(tmp_path, subject="email_id").write(record)

    assert path.resolve().parent == (tmp_path / "logs" / "ERROR").resolve()
