"""Each rule of an entry of the dead letter queue has a test that breaks it."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from collabiq.records import DLQ_FORM, OPERATION_TYPES, DLQEntry, DLQStatus
from holdfast.errors import InvalidDocument, InvalidValue

CREATED = datetime(2025, 11, 6, 10, 15, 22, 123_000, tzinfo=UTC)
ATTEMPTED = CREATED + timedelta(seconds=23)
REPLAYED = CREATED + timedelta(hours=1)
DETAILS = {
    "error_type": "CircuitBreakerOpen",
    "error_message": "Notion is degraded",
    "stack_trace": "Traceback…",
    "retry_count": 3,
}


def an_entry(**changes) -> DLQEntry:
    given = {
        "dlq_id": "dlq_20251106_101522_abc123",
        "email_id": "19a3f3f856f0b4d4",
        "operation_type": "notion_write",
        "status": DLQStatus.PENDING,
        "original_payload": {"database_id": "db_123"},
        "error_details": DETAILS,
        "created_at": CREATED,
        "last_attempt": ATTEMPTED,
        **changes,
    }
    return DLQEntry(**given)


def test_an_entry_has_the_fields_of_the_form_in_their_order():
    assert list(an_entry().to_json().items()) == [
        ("dlq_id", "dlq_20251106_101522_abc123"),
        ("email_id", "19a3f3f856f0b4d4"),
        ("operation_type", "notion_write"),
        ("status", "pending"),
        ("original_payload", {"database_id": "db_123"}),
        ("error_details", DETAILS),
        ("created_at", "2025-11-06T10:15:22.123000+00:00"),
        ("last_attempt", "2025-11-06T10:15:45.123000+00:00"),
        ("replayed_at", None),
        ("processed", False),
    ]


def test_an_entry_is_read_as_it_was_written():
    entry = an_entry(status="completed", replayed_at=REPLAYED, processed=True)

    assert DLQEntry.from_json(json.loads(json.dumps(entry.to_json()))) == entry


def test_moments_may_be_text_and_without_a_zone_are_in_utc():
    entry = an_entry(created_at="2025-11-06T10:15:22.123Z", last_attempt="2025-11-06T10:16:00")

    assert entry.created_at == CREATED
    assert entry.last_attempt.tzinfo is UTC


def test_fields_from_elsewhere_are_ignored():
    assert DLQEntry.from_json({**an_entry().to_json(), "host": "x"}) == an_entry()


RULES = {
    "dlq_id without its form": ("dlq_id", "abc123"),
    "dlq_id without an email id": ("dlq_id", "dlq_20251106_101522_"),
    "dlq_id that leaves its folder": ("dlq_id", "dlq_20251106_101522_../../passwd"),
    "dlq_id with a NUL": ("dlq_id", "dlq_20251106_101522_a\x00"),
    "dlq_id over lines": ("dlq_id", "dlq_20251106_101522_a\n"),
    "dlq_id of excessive length": ("dlq_id", "dlq_20251106_101522_" + "a" * 200),
    "dlq_id that is no text": ("dlq_id", 7),
    "email_id that is empty": ("email_id", ""),
    "email_id of blanks": ("email_id", "  "),
    "email_id that is no text": ("email_id", 7),
    "email_id that leaves its folder": ("email_id", "../../etc/passwd"),
    "email_id that is a Message-ID": ("email_id", "<a@mail.example.org>"),
    "email_id of excessive length": ("email_id", "a" * 65),
    "email_id with a NUL": ("email_id", "19a3\x00"),
    "operation_type that is unknown": ("operation_type", "fax_send"),
    "operation_type that is no text": ("operation_type", None),
    "operation_type that leaves its folder": ("operation_type", "../gmail_fetch"),
    "status that is unknown": ("status", "lost"),
    "original_payload that is empty": ("original_payload", {}),
    "original_payload that is a list": ("original_payload", [1]),
    "original_payload that is missing": ("original_payload", None),
    "error_details that are no object": ("error_details", "boom"),
    "created_at that is no moment": ("created_at", "yesterday"),
    "last_attempt that is no moment": ("last_attempt", 7),
    "last_attempt before created_at": ("last_attempt", CREATED - timedelta(seconds=1)),
    "replayed_at before last_attempt": ("replayed_at", ATTEMPTED - timedelta(seconds=1)),
    "replayed_at that is no moment": ("replayed_at", "soon"),
    "processed that is a number": ("processed", 1),
}


@pytest.mark.parametrize(("field", "value"), RULES.values(), ids=RULES)
def test_an_entry_that_breaks_a_rule_is_refused_by_the_name_of_its_field(field: str, value):
    with pytest.raises(InvalidValue) as raised:
        an_entry(**{field: value})
    assert raised.value.field == field

    with pytest.raises(InvalidDocument) as read:
        DLQEntry.from_json({**an_entry().to_json(), field: value if field != "status" else "lost"})
    assert read.value.path == f"/{field}"


@pytest.mark.parametrize("name", ["error_type", "error_message", "retry_count"])
def test_the_details_of_an_error_have_to_name_it(name: str):
    details = {key: value for key, value in DETAILS.items() if key != name}

    with pytest.raises(InvalidValue, match=f"with {name} in it"):
        an_entry(error_details=details)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retry_count", -1),
        ("retry_count", True),
        ("retry_count", "3"),
        ("error_type", 7),
        ("error_message", None),
    ],
)
def test_the_details_of_an_error_have_their_types(name: str, value):
    with pytest.raises(InvalidValue) as raised:
        an_entry(error_details={**DETAILS, name: value})
    assert raised.value.field == f"error_details/{name}"


def test_equal_moments_are_in_order():
    an_entry(last_attempt=CREATED, replayed_at=CREATED)


def test_moments_are_compared_across_zones():
    far = timezone(timedelta(hours=9))

    an_entry(last_attempt=ATTEMPTED.astimezone(far))
    with pytest.raises(InvalidValue):
        an_entry(last_attempt=(CREATED - timedelta(seconds=1)).astimezone(far))


@pytest.mark.parametrize("operation", OPERATION_TYPES)
def test_the_four_operations_are_known(operation: str):
    assert an_entry(operation_type=operation).operation_type == operation


@pytest.mark.parametrize("document", [None, [], "x", 7])
def test_what_is_no_object_is_no_entry(document):
    with pytest.raises(InvalidDocument, match="an object"):
        DLQEntry.from_json(document)


def test_a_field_that_is_not_there_is_named():
    document = an_entry().to_json()
    del document["error_details"]

    with pytest.raises(InvalidDocument) as raised:
        DLQEntry.from_json(document)
    assert raised.value.path == "/error_details"


def test_what_may_be_left_out_has_its_default():
    document = an_entry().to_json()
    del document["replayed_at"], document["processed"]

    assert DLQEntry.from_json(document) == an_entry()


def test_an_id_is_made_of_the_moment_and_the_email_id():
    moment = CREATED.astimezone(timezone(timedelta(hours=-5)))

    made = DLQ_FORM.id_of(moment, "19a3f3f856f0b4d4")

    assert made == "dlq_20251106_101522_123000_19a3f3f856f0b4d4"
    assert an_entry(dlq_id=made).dlq_id == made


@pytest.mark.parametrize("subject", ["inbox", "startup"])
def test_what_failed_before_there_was_a_mail_has_a_subject_all_the_same(subject: str):
    assert an_entry(email_id=subject).to_json()["email_id"] == subject
