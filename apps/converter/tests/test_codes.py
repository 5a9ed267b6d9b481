import pytest

from converter.codes import CODES, GW_4XX, TOO_LARGE, told_of, told_of_refused
from holdfast.classify import classify
from holdfast.errors import GiveUp

LINES = {
    "NOT_PDF": "Only PDF files are supported.",
    "TOO_LARGE": "File exceeds 50 MB limit.",
    "GW_4XX": "Couldn’t convert this file with the selected mapping.",
    "GW_5XX": "Converter service is having an issue. We’ll retry shortly.",
    "GW_TIMEOUT": "Conversion is taking too long. We’ll retry.",
    "IO_ERROR": "Temporary storage issue. We’ll retry.",
    "NOT_READY": "Conversion not finished yet.",
    "EXPIRED": "File was removed by retention. Re-upload to regenerate.",
    "FORBIDDEN": "This file isn’t yours.",
    "UNKNOWN": "Something went wrong on our side.",
}
FINAL_LINES = LINES | {
    "GW_5XX": "Converter service had an issue. Try again later.",
    "GW_TIMEOUT": "Conversion took too long. Try again later.",
    "IO_ERROR": "Storage issue. Try again later.",
}
STATUSES = {
    "NOT_PDF": 400,
    "TOO_LARGE": 413,
    "IO_ERROR": 500,
    "NOT_READY": 409,
    "EXPIRED": 404,
    "FORBIDDEN": 403,
}


def error_of(error_class: str, message: str = "") -> dict[str, object]:
    return classify(GiveUp(error_class, message), now=0).to_document()


def test_there_are_ten_codes_each_with_its_line():
    assert {code: told.message for code, told in CODES.codes.items()} == LINES


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_the_api_answers_with_the_status_of_the_code(code, status):
    assert CODES.codes[code].http_status == status


def test_what_may_pass_by_itself_is_tried_again():
    retried = {code for code, told in CODES.codes.items() if told.retryable}

    assert retried == {"GW_5XX", "GW_TIMEOUT", "IO_ERROR", "UNKNOWN"}


@pytest.mark.parametrize("code", LINES)
def test_an_error_class_that_is_a_code_stands_for_itself(code):
    assert told_of(error_of(code, "at /srv/secret")).code == code
    assert told_of(error_of(code, "at /srv/secret")).message == FINAL_LINES[code]


def test_no_line_of_a_conversion_that_has_failed_promises_a_retry():
    for code in CODES.codes:
        assert "retry" not in told_of(error_of(code)).message


@pytest.mark.parametrize(
    ("error_class", "code"),
    [
        ("GW_UNAVAILABLE", "GW_5XX"),
        ("NETWORK", "GW_5XX"),
        ("PARSE_ERROR", "GW_4XX"),
        ("VALIDATION_ERROR", "GW_4XX"),
        ("INVALID_MAPPING", "GW_4XX"),
        ("MEMORY_ERROR", "UNKNOWN"),
        ("GW_MISCONFIGURED", "GW_5XX"),
    ],
)
def test_what_operators_call_it_is_one_of_the_codes_to_users(error_class, code):
    assert told_of(error_of(error_class, "at /srv/secret")).code == code
    assert told_of(error_of(error_class, "at /srv/secret")).message == FINAL_LINES[code]


@pytest.mark.parametrize(
    ("error_class", "code"),
    [
        ("CIRCUIT_OPEN", "GW_5XX"),
        ("NETWORK", "GW_5XX"),
        ("STAGE_TIMEOUT", "GW_TIMEOUT"),
        ("WORKER_LOST", "UNKNOWN"),
        ("BUG", "UNKNOWN"),
        ("NOBODY_KNOWS", "UNKNOWN"),
    ],
)
def test_what_the_engine_says_is_told_as_a_code(error_class, code):
    assert told_of(error_of(error_class)).code == code


def test_a_refusal_ends_with_what_the_gateway_said():
    said = f"{LINES[GW_4XX]} Unsupported mapping."

    assert told_of(error_of(GW_4XX, said)).message == said


@pytest.mark.parametrize("said", ["Unsupported", f"{LINES[GW_4XX]} two\nlines", "at /srv"])
def test_of_anything_else_about_a_refusal_nothing_is_told(said):
    assert told_of(error_of(GW_4XX, said)).message == LINES[GW_4XX]


@pytest.mark.parametrize("error", [{}, {"message": "x"}, {"error_class": 3}])
def test_what_cannot_be_read_is_told_as_unknown(error):
    assert told_of(error).code == "UNKNOWN"


@pytest.mark.parametrize(
    ("limit_bytes", "line"),
    [
        (50 * 1024 * 1024, "File exceeds 50 MB limit."),
        (5 * 1024 * 1024, "File exceeds 5 MB limit."),
        (1000, "File exceeds 0.00095 MB limit."),
    ],
)
def test_the_line_about_a_large_file_names_the_limit_in_force(limit_bytes, line):
    told = told_of_refused(TOO_LARGE, limit_bytes=limit_bytes)

    assert (told.code, told.message, told.http_status) == ("TOO_LARGE", line, 413)
    assert told_of(error_of("TOO_LARGE", line)).message == line
