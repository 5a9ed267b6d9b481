from datetime import UTC, datetime

from grading.messages.contract import DlqRecord
from grading.messages.outgoing import dlq_record, redacted
from grading.states import FailureReason

AT = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGE = {
    "requestId": "r",
    "submissionId": "s",
    "callbackToken": "secret-token",
    "skill": "writing",
    "payload": {"text": "my essay", "taskNumber": 2, "requirements": ["one"]},
}


def record_of(original: object, *, redact: bool) -> dict:
    return dlq_record(
        original=original,
        reason=FailureReason.MAX_RETRIES,
        attempts_made=4,
        last_error="x" * 900,
        at=AT,
        stage="assess_1",
        redact=redact,
    )


def test_a_record_fits_its_contract_and_is_short():
    record = DlqRecord.model_validate(record_of(MESSAGE, redact=False))

    assert (record.requestId, record.submissionId, record.skill) == ("r", "s", "writing")
    assert len(record.lastError) == 500
    assert record.originalMessage == MESSAGE


def test_a_redacted_record_holds_ids_hashes_and_lengths():
    record = record_of(MESSAGE, redact=True)
    text = str(record)

    assert "my essay" not in text
    assert "secret-token" not in text
    assert record["originalMessage"]["payload"]["taskNumber"] == 2
    assert record["originalMessage"]["payload"]["text"].endswith("(8 characters)")
    assert redacted(MESSAGE)["requestId"] == "r"


def test_what_is_no_object_is_kept_as_text():
    assert record_of("no json", redact=False)["originalText"] == "no json"
    assert "no json" not in record_of("no json", redact=True)["originalText"]
