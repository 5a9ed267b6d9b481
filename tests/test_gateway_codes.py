"""The few codes of a converter: each has its line, and every inner nuance is one of them."""

import pytest

from holdfast.core.failure import Category, ErrorClass, Failure
from holdfast.gateway_codes import GATEWAY_CODES

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
}


def test_there_are_these_codes_and_no_others():
    assert set(GATEWAY_CODES.codes) == {*LINES, "UNKNOWN"}


@pytest.mark.parametrize(("code", "line"), LINES.items())
def test_each_code_has_its_line(code, line):
    assert GATEWAY_CODES.codes[code].message == line


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("NOT_PDF", 400),
        ("TOO_LARGE", 413),
        ("NOT_READY", 409),
        ("EXPIRED", 404),
        ("FORBIDDEN", 403),
    ],
)
def test_each_refusal_has_its_status(code, status):
    assert GATEWAY_CODES.codes[code].http_status == status


@pytest.mark.parametrize(
    ("inner", "code"),
    [
        ("GW_UNAVAILABLE", "GW_5XX"),
        ("NETWORK", "GW_5XX"),
        ("UPSTREAM_5XX", "GW_5XX"),
        ("CIRCUIT_OPEN", "GW_5XX"),
        ("NETWORK_TIMEOUT", "GW_TIMEOUT"),
        ("STAGE_TIMEOUT", "GW_TIMEOUT"),
        ("PARSE_ERROR", "GW_4XX"),
        ("VALIDATION_ERROR", "GW_4XX"),
        ("INVALID_MAPPING", "GW_4XX"),
        ("INVALID", "GW_4XX"),
        ("IO_ERROR", "IO_ERROR"),
        ("MEMORY_ERROR", "UNKNOWN"),
        ("BUG", "UNKNOWN"),
    ],
)
def test_inner_nuances_are_mapped_to_them(inner, code):
    assert GATEWAY_CODES.of(inner).code == code


@pytest.mark.parametrize("error_class", list(ErrorClass))
def test_nothing_of_a_failure_reaches_a_user(error_class):
    failure = Failure(
        error_class=error_class,
        message="password=hunter2 at /srv/app/convert.py",
        category=Category.TRANSIENT,
        retryable=True,
    )
    told = GATEWAY_CODES.of(failure)

    assert told.message in {*LINES.values(), GATEWAY_CODES.default.message}
