"""Each rule of the form in which dead letters are kept as files."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.letter_files.form import (
    MAX_ID_LENGTH,
    PLAIN_FORM,
    EntryStatus,
    LetterEntry,
    LetterForm,
)
from holdfast.redaction.printable import safe_name

CREATED = datetime(2025, 11, 6, 10, 15, 22, 123_000, tzinfo=UTC)
ATTEMPTED = CREATED + timedelta(seconds=23)
REPLAYED = CREATED + timedelta(hours=1)
DETAILS = {
    "error_type": "CircuitBreakerOpen",
    "error_message": "Notion is degraded",
    "stack_trace": "Traceback…",
    "retry_count": 3,
}


def an_entry(**changes) -> LetterEntry:
    given = {
        "entry_id": "letter_20251106_101522_abc123",
        "subject": "19a3f3f856f0b4d4",
        "operation_type": "row_write",
        "status": EntryStatus.PENDING,
        "original_payload": {"database_id": "db_123"},
        "error_details": DETAILS,
        "created_at": CREATED,
        "last_attempt": ATTEMPTED,
        **changes,
    }
    return LetterEntry(**given)


def test_an_entry_has_the_fields_of_the_form_in_their_order():
    assert list(PLAIN_FORM.write(an_entry()).items()) == [
        ("entry_id", "letter_20251106_101522_abc123"),
        ("subject", "19a3f3f856f0b4d4"),
        ("operation_type", "row_write"),
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

    assert PLAIN_FORM.read(json.loads(json.dumps(PLAIN_FORM.write(entry)))) == entry


def test_moments_may_be_text_and_without_a_zone_are_in_utc():
    entry = an_entry(created_at="2025-11-06T10:15:22.123Z", last_attempt="2025-11-06T10:16:00")

    assert entry.created_at == CREATED
    assert entry.last_attempt.tzinfo is UTC


def test_fields_from_elsewhere_are_ignored():
    assert PLAIN_FORM.read({**PLAIN_FORM.write(an_entry()), "host": "x"}) == an_entry()


RULES = {
    "entry_id without its form": ("entry_id", "abc123"),
    "entry_id without an subject": ("entry_id", "letter_20251106_101522_"),
    "entry_id that leaves its folder": ("entry_id", "letter_20251106_101522_../../passwd"),
    "entry_id with a NUL": ("entry_id", "letter_20251106_101522_a\x00"),
    "entry_id over lines": ("entry_id", "letter_20251106_101522_a\n"),
    "entry_id of excessive length": ("entry_id", "letter_20251106_101522_" + "a" * MAX_ID_LENGTH),
    "entry_id that is no text": ("entry_id", 7),
    "subject that is empty": ("subject", ""),
    "subject of blanks": ("subject", "  "),
    "subject that is no text": ("subject", 7),
    "operation_type that is no text": ("operation_type", None),
    "operation_type that leaves its folder": ("operation_type", "../mail_fetch"),
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
        PLAIN_FORM.read(
            {**PLAIN_FORM.write(an_entry()), field: value if field != "status" else "lost"}
        )
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


NAMED = LetterForm(id_name="dlq_id", subject_name="mail_id", prefix="dlq", operations=("to_xml",))


def test_a_program_has_names_of_its_own():
    entry = an_entry(entry_id="dlq_20251106_101522_a", operation_type="to_xml")

    document = NAMED.write(entry)

    assert list(document)[:3] == ["dlq_id", "mail_id", "operation_type"]
    assert NAMED.read(document) == entry
    assert NAMED.id_of(CREATED, "19a3") == "dlq_20251106_101522_123000_19a3"
    assert NAMED.moment_of("dlq_20251106_101522_123000_19a3") == CREATED
    for other in ("letter_20251106_101522_123000_19a3", "dlq_20251106_101522_abc", "dlq_", "../x"):
        assert NAMED.moment_of(other) is None


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"operation_type": "fax_send"}, "/operation_type"),
        ({"dlq_id": "letter_20251106_101522_a"}, "/dlq_id"),
        ({"mail_id": ""}, "/mail_id"),
    ],
)
def test_what_is_wrong_is_told_by_the_names_of_the_program(changes: dict[str, str], path: str):
    entry = an_entry(entry_id="dlq_20251106_101522_a", operation_type="to_xml")

    with pytest.raises(InvalidDocument) as raised:
        NAMED.read({**NAMED.write(entry), **changes})

    assert raised.value.path == path


@pytest.mark.parametrize(
    "changes", [{"id_name": "Id"}, {"subject_name": ""}, {"prefix": "a_b"}, {"prefix": "../a"}]
)
def test_names_that_cannot_stand_in_a_file_are_refused(changes: dict[str, str]):
    with pytest.raises(InvalidValue):
        LetterForm(**changes)


@pytest.mark.parametrize("document", [None, [], "x", 7])
def test_what_is_no_object_is_no_entry(document):
    with pytest.raises(InvalidDocument, match="an object"):
        PLAIN_FORM.read(document)


def test_a_field_that_is_not_there_is_named():
    document = PLAIN_FORM.write(an_entry())
    del document["error_details"]

    with pytest.raises(InvalidDocument) as raised:
        PLAIN_FORM.read(document)
    assert raised.value.path == "/error_details"


def test_what_may_be_left_out_has_its_default():
    document = PLAIN_FORM.write(an_entry())
    del document["replayed_at"], document["processed"]

    assert PLAIN_FORM.read(document) == an_entry()


def test_an_id_is_made_of_the_moment_and_the_subject():
    moment = CREATED.astimezone(timezone(timedelta(hours=-5)))

    made = PLAIN_FORM.id_of(moment, "19a3f3f856f0b4d4")

    assert made == "letter_20251106_101522_123000_19a3f3f856f0b4d4"
    assert an_entry(entry_id=made).entry_id == made


@pytest.mark.parametrize(
    "subject", ["../../etc/passwd", "a/b", "", "..", "x" * 500, "é@ü", "a\x00b", "\ud800", "-rf"]
)
def test_any_subject_makes_a_name_that_stays_in_its_folder(subject: str):
    name = safe_name(subject, longest=120)

    assert an_entry(entry_id=PLAIN_FORM.id_of(CREATED, subject))
    assert not set(name) & set("/\\\0")
    assert not name.startswith((".", "-"))
    assert safe_name(subject + "!", longest=120) != name
