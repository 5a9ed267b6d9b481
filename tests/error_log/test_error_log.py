"""Errors are kept as lines of JSON, by severity, whatever is in them and whoever writes at once."""

import json
import os
import resource
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.classify import classify
from holdfast.core.values.failure import Category, Severity
from holdfast.error_log import ErrorLog, ErrorRecord
from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.secrecy import keep_secret
from tests.warm.process import WarmProcess

WHEN = datetime(2025, 11, 6, 10, 15, 22, 123_000, tzinfo=UTC)
NAME = "error_20251106T101522123000Z_19a3f3f856f0b4d4.json"


def a_record(**changes):
    facts = {
        "timestamp": WHEN,
        "severity": Severity.ERROR,
        "category": Category.TRANSIENT,
        "message": "the mailbox did not answer",
        "error_type": "socket.timeout",
        "stack_trace": "Traceback (most recent call last):\n  File…",
        "context": {
            "job_id": "19a3f3f856f0b4d4",
            "operation": "fetch",
            "user": "jlim@example.com",
        },
        "retry_count": 2,
    }
    return ErrorRecord(**facts | changes)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_as_json():
    assert a_record().to_json() == {
        "timestamp": "2025-11-06T10:15:22.123000+00:00",
        "severity": "ERROR",
        "category": "TRANSIENT",
        "message": "the mailbox did not answer",
        "error_type": "socket.timeout",
        "stack_trace": "Traceback (most recent call last):\n  File…",
        "context": {
            "job_id": "19a3f3f856f0b4d4",
            "operation": "fetch",
            "user": "jlim@example.com",
        },
        "http_status": None,
        "retry_count": 2,
    }
    assert list(a_record().to_json()) == [
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


def test_a_record_comes_back_from_its_json():
    record = a_record(http_status=503)

    assert ErrorRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_record_of_another_writer_is_read():
    document = a_record().to_json() | {"timestamp": "2025-11-06T10:15:22.123Z", "extra": 1}

    assert ErrorRecord.from_json(document) == a_record()


def test_what_is_no_record_is_not_read():
    with pytest.raises(InvalidDocument, match="severity"):
        ErrorRecord.from_json(a_record().to_json() | {"severity": "LOUD"})
    with pytest.raises(InvalidDocument, match="message"):
        ErrorRecord.from_json({"timestamp": "2025-11-06"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timestamp", "yesterday"),
        ("timestamp", "2025-13-06T10:15:22Z"),
        ("timestamp", 1_762_424_122),
        ("timestamp", None),
        ("severity", "LOUD"),
        ("severity", "error"),
        ("severity", None),
        ("category", "SOMETIMES"),
        ("message", ""),
        ("message", " \n "),
        ("message", None),
        ("error_type", ""),
        ("stack_trace", 7),
        ("context", {}),
        ("context", {"job_id": "1"}),
        ("context", {"operation": "fetch"}),
        ("context", ["job_id", "operation"]),
        ("http_status", "503"),
        ("http_status", -1),
        ("retry_count", -1),
        ("retry_count", 1.0),
        ("retry_count", True),
        ("retry_count", None),
    ],
)
def test_a_record_that_breaks_a_rule_is_refused(field, value):
    with pytest.raises(InvalidValue) as caught:
        a_record(**{field: value})

    assert caught.value.field == field


@pytest.mark.parametrize("severity", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
@pytest.mark.parametrize("category", ["TRANSIENT", "PERMANENT", "CRITICAL"])
def test_severity_and_category_may_be_given_as_words(severity, category):
    record = a_record(severity=severity, category=category)

    assert (record.severity.value, record.category.value) == (severity, category)


@pytest.mark.parametrize(
    "timestamp",
    [
        "2025-11-06T10:15:22.123Z",
        "2025-11-06T10:15:22.123",
        "2025-11-06T12:15:22.123+02:00",
        datetime(2025, 11, 6, 10, 15, 22, 123_000),  # noqa: DTZ001 - without a zone on purpose
        WHEN.astimezone(timezone(timedelta(hours=9))),
    ],
    ids=str,
)
def test_an_instant_may_be_given_in_several_ways(timestamp):
    assert a_record(timestamp=timestamp).timestamp == WHEN


def test_what_the_context_must_name_is_the_callers_choice():
    record = a_record(context={"job_id": "j"}, required_context=("job_id",))

    assert record.to_json()["context"] == {"job_id": "j"}
    with pytest.raises(InvalidValue, match="with stage in it"):
        a_record(context={"job_id": "j"}, required_context=("job_id", "stage"))


def test_texts_are_made_safe_and_cut():
    record = a_record(
        message="a\0b" + "x" * 10_000,
        stack_trace="s" * 100_000,
        context={"job_id": "1", "operation": "x" * 100_000},
    )

    assert record.message.startswith("a\\x00b")
    assert len(record.message) == 2_000
    assert len(record.stack_trace) == 16_000
    assert len(record.context["operation"]) == 4_000


def test_secrets_are_taken_out_before_anything_is_cut():
    secret = "Ck5-in-a-record-9Wm"
    keep_secret([secret])

    for before in range(1_940, 2_001, 4):
        record = a_record(
            message="x" * before + secret + " tail" * 100,
            error_type=f"shop.{secret}",
            stack_trace="x" * (14_000 + before) + secret + " tail" * 100,
            context={
                "job_id": secret,
                "operation": "x" * (2_000 + before) + secret + " tail" * 100,
                "api_key": "hunter2",
                "inner": [{secret: secret}],
            },
        )

        assert secret[:6] not in json.dumps(record.to_json())
        assert "hunter2" not in json.dumps(record.to_json())


def time_out():
    raise TimeoutError("no answer")


def test_the_record_of_a_failure():
    with pytest.raises(TimeoutError) as caught:
        time_out()
    failure = classify(caught.value, now=0)

    record = ErrorRecord.of_failure(
        failure,
        at=1_762_424_122_123_000,
        context={"job_id": "1", "operation": "fetch"},
        retry_count=1,
    )

    assert record.timestamp == WHEN
    assert (record.severity, record.category) == (Severity.WARNING, Category.TRANSIENT)
    assert (record.error_type, record.message) == ("TimeoutError", "no answer")
    assert "test_error_log.py" in record.stack_trace
    assert record.retry_count == 1


def test_a_record_is_a_line_in_a_file_named_after_it(tmp_path):
    path = ErrorLog(tmp_path).write(a_record())

    assert path == tmp_path / "logs" / "ERROR" / NAME
    assert path.read_text().count("\n") == 1
    assert lines_of(path) == [a_record().to_json()]


@pytest.mark.parametrize("severity", list(Severity))
def test_each_severity_has_a_folder(tmp_path, severity):
    path = ErrorLog(tmp_path).write(a_record(severity=severity))

    assert path.parent == tmp_path / "logs" / severity.value


def test_records_of_the_same_name_are_lines_of_the_same_file(tmp_path):
    log = ErrorLog(tmp_path)

    paths = {log.write(a_record(retry_count=number)) for number in range(3)}

    (path,) = paths
    assert [line["retry_count"] for line in lines_of(path)] == [0, 1, 2]


def test_nothing_but_records_is_left_behind(tmp_path):
    log = ErrorLog(tmp_path)
    for number in range(3):
        log.write(a_record(retry_count=number))

    assert [path.name for path in (tmp_path / "logs" / "ERROR").iterdir()] == [NAME]


@pytest.mark.parametrize(
    "job_id",
    [
        "../../etc/passwd",
        "..",
        "",
        "a/b",
        "a\0b",
        "-rf",
        "x" * 500,
        "한국어",
        "CON\n",
        "\ud800",
        7,
        None,
    ],
)
def test_no_subject_leads_out_of_the_folder(tmp_path, job_id):
    context = {"job_id": job_id, "operation": "fetch"}

    path = ErrorLog(tmp_path).write(a_record(context=context))

    assert path.resolve().parent == tmp_path / "logs" / "ERROR"
    assert path.name.startswith("error_20251106T101522123000Z_")
    assert len(path.name) < 200
    assert len(lines_of(path)) == 1


@given(first=st.text(max_size=200), second=st.text(max_size=200))
def test_two_subjects_never_share_a_name(first, second):
    log = ErrorLog("data")
    names = [
        log.path_of(a_record(context={"job_id": subject, "operation": "o"})).name
        for subject in (first, second)
    ]

    assert (names[0] == names[1]) is (first == second)


class Mute:
    def __str__(self):
        raise RuntimeError("not telling")


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {1, 2}, object(), Mute(), b"\xff", {"a": {("b",): 1}}, "\u2028"],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_json_lacks_does_not_cost_the_record(tmp_path, value):
    context = {"job_id": "1", "operation": "fetch", "odd": value}

    path = ErrorLog(tmp_path).write(a_record(context=context))

    (text,) = path.read_text().split("\n")[:-1]
    line = json.loads(text, parse_constant=pytest.fail)
    assert line["message"] == a_record().message
    assert line["context"]["operation"] == "fetch"


def test_a_circle_does_not_cost_the_record(tmp_path):
    circle = []
    circle.append(circle)
    context = {"job_id": "1", "operation": "fetch", "odd": circle}

    path = ErrorLog(tmp_path).write(a_record(context=context))

    assert lines_of(path)[0]["context"]["odd"] == ["[redacted:cycle]"]


def test_another_subject_may_name_the_files(tmp_path):
    record = a_record(context={"job_id": "job-7"}, required_context=("job_id",))

    path = ErrorLog(tmp_path, subject="job_id").write(record)

    assert path.name.endswith("_job-7.json")


def test_what_is_written_is_redacted_first(tmp_path):
    def redact(document):
        return document | {"message": document["message"].replace("hunter2", "[redacted]")}

    path = ErrorLog(tmp_path, redact=redact).write(a_record(message="password hunter2"))

    assert lines_of(path)[0]["message"] == "password [redacted]"


def test_what_cannot_be_redacted_is_not_written(tmp_path):
    def broken(document):
        raise RuntimeError("oops")

    path = ErrorLog(tmp_path, redact=broken).write(a_record(message="password hunter2"))

    (line,) = lines_of(path)
    assert "hunter2" not in path.read_text()
    assert "jlim" not in path.read_text()
    assert (line["severity"], line["error_type"]) == ("ERROR", "socket.timeout")
    assert set(line["context"]) == {"job_id", "operation", "user"}


def test_a_disk_that_fills_up_leaves_no_half_line(tmp_path):
    log = ErrorLog(tmp_path)
    path = log.write(a_record())
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, most))
    try:
        with pytest.raises(OSError, match=r"bytes|large"):
            log.write(a_record())
        with pytest.raises(OSError, match=r"bytes|large"):
            log.write(a_record(message="y" * 2_000, timestamp=WHEN + timedelta(seconds=1)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))

    assert lines_of(path) == [a_record().to_json()]
    assert [path.name for path in path.parent.iterdir()] == [NAME]


WRITER = """
import sys
from holdfast.error_log import ErrorLog, ErrorRecord
for number in range(50):
    ErrorLog(sys.argv[1]).write(ErrorRecord(
        timestamp="2025-11-06T10:15:22Z", severity="ERROR", category="TRANSIENT",
        message=sys.argv[2] * 1_000, error_type="E", retry_count=number,
        context={"job_id": "1", "operation": "o"},
    ))
"""


def test_processes_that_write_the_same_file_at_once_mix_no_lines(tmp_path):
    writers = [
        WarmProcess([sys.executable, "-c", WRITER, str(tmp_path), letter]) for letter in "abcd"
    ]

    assert [writer.wait(50) for writer in writers] == [0] * 4
    (path,) = (tmp_path / "logs" / "ERROR").iterdir()
    lines = lines_of(path)
    assert len(lines) == 200
    assert all(line["message"] == line["message"][0] * 1_000 for line in lines)


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "logs").write_text("a file where the folder should be")

    with pytest.raises(OSError):  # noqa: PT011 - which one is the system's choice
        ErrorLog(tmp_path).write(a_record())


def test_only_the_owner_may_read_what_went_wrong(tmp_path):
    path = ErrorLog(tmp_path).write(a_record())

    assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116 - the mode as the system has it
