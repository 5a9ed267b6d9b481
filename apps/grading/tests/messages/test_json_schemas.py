import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from apps.grading.tests.sides import RESULT
from grading.messages.contract import DlqRecord
from grading.messages.json_schemas import schema_of
from grading.messages.validation import DoesNotFit, read_callback, read_request

UUID_TEXT = "0b6f9b1e-6f0e-4d0e-9c5e-2f1f0a6d7c11"
WRITING = {
    "schemaVersion": 1,
    "requestId": UUID_TEXT,
    "submissionId": "s",
    "userId": "u",
    "skill": "writing",
    "attempt": 1,
    "createdAt": "2026-01-01T00:00:00Z",
    "deadlineAt": "2026-01-01T00:20:00.000Z",
    "payload": {"text": "a", "taskNumber": 1, "questionId": "q", "prompt": "p"},
    "callbackToken": "t",
    "metadata": {"traceId": None},
}
SPEAKING = WRITING | {
    "skill": "speaking",
    "payload": {
        "audioUrl": "https://a.example/x",
        "audioSha256": "0" * 64,
        "durationSeconds": 3.5,
        "partNumber": 3,
        "questionId": "q",
        "prompt": "p",
    },
}
CALLBACK = {
    "schemaVersion": 1,
    "eventId": UUID_TEXT,
    "requestId": UUID_TEXT,
    "submissionId": "s",
    "callbackToken": "t",
    "status": "completed",
    "result": RESULT,
    "progress": {"step": "queued", "progress": 0, "message": ""},
    "error": {"code": "INTERNAL", "retryable": False, "message": "m", "retryAfterSeconds": 3},
    "metadata": {},
}
RECORD = {
    "schemaVersion": 1,
    "requestId": None,
    "submissionId": "s",
    "failureReason": "WORKER_LOST",
    "attemptsMade": 4,
    "lastError": "e",
    "timestamp": "2026-01-01T00:00:00Z",
    "originalMessage": {"a": 1},
}
KINDS = {
    "grading.request": [WRITING, SPEAKING],
    "grading.callback": [CALLBACK],
    "grading.dlq": [RECORD],
}
READERS = {
    "grading.request": read_request,
    "grading.callback": read_callback,
    "grading.dlq": DlqRecord.model_validate,
}
ODD = st.one_of(
    st.none(),
    st.integers(-2, 12),
    st.sampled_from([0.5, 6.3, 10.5, -0.5, 1.0]),
    st.sampled_from(
        ["", "x", "x" * 65, "x" * 501, "writing", "speaking", "error", "progress", "B1", "C1"]
    ),
    st.sampled_from(["2026-01-01T00:00:00", "2026-01-01T00:00:00+07:00", "2026-13-01T00:00:00Z"]),
    st.lists(st.sampled_from(["a", 1]), max_size=1),
    st.just({}),
)
_GONE = object()


def places(document: Any, path: tuple = ()) -> list[tuple]:
    if not isinstance(document, dict):
        return []
    here = [(*path, name) for name in document]
    return here + [each for name in document for each in places(document[name], (*path, name))]


def changed(document: dict, path: tuple, value: Any) -> dict:
    copied = copy.deepcopy(document)
    parent = copied
    for name in path[:-1]:
        parent = parent[name]
    if value is _GONE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return copied


def fits_model(kind: str, document: dict) -> bool:
    try:
        READERS[kind](document)
    except (ValidationError, DoesNotFit):
        return False
    return True


def fits_schema(kind: str, document: dict) -> bool:
    return Draft202012Validator(schema_of(kind)).is_valid(document)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one_and_takes_what_the_model_takes(kind: str):
    Draft202012Validator.check_schema(schema_of(kind))

    for document in KINDS[kind]:
        assert fits_schema(kind, document)
        assert fits_model(kind, document)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [{"later": {"a": [1]}}, {"note": "x"}])
def test_fields_that_are_not_known_are_ignored(kind: str, more: dict):
    for document in KINDS[kind]:
        assert fits_schema(kind, document | more)
        assert fits_model(kind, document | more)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_left_out_model_and_schema_agree(kind: str):
    for document in KINDS[kind]:
        for path in places(document):
            other = changed(document, path, _GONE)
            assert fits_model(kind, other) == fits_schema(kind, other), path


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_whatever_is_changed_model_and_schema_agree(kind: str, data: st.DataObject):
    document = data.draw(st.sampled_from(KINDS[kind]))
    path = data.draw(st.sampled_from(places(document)))
    other = changed(document, path, data.draw(ODD))

    if kind != "grading.dlq" or fits_schema(kind, other):
        assert fits_model(kind, other) == fits_schema(kind, other)
