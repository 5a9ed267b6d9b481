"""Statuses and Retry-After, read from whatever shape a library gives its exceptions."""

import http
import time
from types import SimpleNamespace

import pytest

from holdfast.classify import classify
from holdfast.classify.facts.http import headers_of, parse_retry_after, retry_after_us_of, status_of
from holdfast.core.values.instant import SECOND_US, to_datetime
from holdfast.core.values.retry import Retry

RETRY = Retry(base=2, jitter="none")
BACKOFF_US = 2 * SECOND_US
CEILING_US = 300 * SECOND_US
NOW = 1_445_412_480_000_000  # Wed, 21 Oct 2015 07:28:00 GMT
YEAR_US = 365 * 24 * 3600 * 10**6


class Carrier(Exception):
    def __init__(self, **attributes):
        super().__init__("carrier")
        self.__dict__.update(attributes)


class Explosive(Exception):
    @property
    def status_code(self):
        raise RuntimeError("no status")

    @property
    def headers(self):
        raise RuntimeError("no headers")


def response(**attributes):
    return SimpleNamespace(**attributes)


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"status_code": 503}, 503),
        ({"status": 429}, 429),
        ({"code": 404}, 404),
        ({"response": response(status_code=502)}, 502),
        ({"resp": response(status=500)}, 500),
        ({"status_code": "503", "status": 504}, 504),
        ({"status_code": 503, "status": 504}, 503),
        ({"code": http.HTTPStatus.NOT_FOUND}, None),
        ({"code": "404"}, None),
        ({"code": True}, None),
        ({"code": 404.0}, None),
        ({"code": 99}, None),
        ({"code": 600}, None),
        ({"code": 550_000}, None),
        ({"code": 7, "response": response(status_code=418)}, 418),
        ({"response": None}, None),
        ({"status": lambda: 500}, None),
        ({}, None),
    ],
)
def test_the_status_is_the_first_plain_integer_that_can_be_one(attributes, status):
    assert status_of(Carrier(**attributes)) == status


def test_an_exception_whose_attributes_raise_carries_nothing():
    assert status_of(Explosive()) is None
    assert headers_of(Explosive()) == {}
    assert retry_after_us_of(Explosive(), now=NOW) is None


@pytest.mark.parametrize(
    "attributes",
    [
        {"headers": {"Retry-After": "7"}},
        {"headers": {b"RETRY-AFTER": b"7"}},
        {"response": response(headers={"retry-after": "7"})},
        {"headers": None, "response": response(headers={"retry-after": "7"})},
        {"resp": {"retry-after": "7", "status": "503"}},
        {"headers": {"retry-after": 7, "Retry-After": "7", 5: "x"}},
    ],
)
def test_headers_are_found_whatever_their_case_and_place(attributes):
    assert retry_after_us_of(Carrier(**attributes), now=NOW) == 7_000_000


def test_what_was_hung_on_to_an_exception_of_python_itself_is_found():
    error = ConnectionError("hung up")
    error.response = response(status_code=503, headers={"Retry-After": "7"})

    failure = classify(error, now=NOW)

    assert (failure.error_class, failure.http_status) == ("UPSTREAM_5XX", 503)
    assert failure.retry_after_us == 7 * SECOND_US


def test_headers_that_fail_while_they_are_read_are_cut_there():
    class Failing:
        def items(self):
            yield "retry-after", "7"
            raise RuntimeError("torn")

    assert headers_of(Carrier(headers=Failing())) == {"retry-after": "7"}


def test_absurdly_many_or_long_headers_are_left_unread():
    many = {f"x-{number}": "1" for number in range(100_000)}

    assert len(headers_of(Carrier(headers=many))) == 200
    assert headers_of(Carrier(headers={"retry-after": "1" * 1_000_000})) == {}


@pytest.mark.parametrize(
    ("value", "microseconds"),
    [
        ("0", 0),
        ("120", 120_000_000),
        (" 120 ", 120_000_000),
        ("1.5", 1_500_000),
        ("-5", 0),
        ("31536000", YEAR_US),
        ("99999999999999999999999", YEAR_US),
        ("Wed, 21 Oct 2015 07:29:30 GMT", 90_000_000),
        ("Wednesday, 21-Oct-15 07:29:30 GMT", 90_000_000),
        ("Wed Oct 21 07:29:30 2015", 90_000_000),
        ("Wed, 21 Oct 2015 09:29:30 +0200", 90_000_000),
        ("Wed, 21 Oct 2015 07:29:30 -0000", 90_000_000),
        ("Wed, 21 Oct 2015 07:27:59 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", YEAR_US),
        ("Wed, 99 Oct 2015 07:29:30 GMT", None),
        ("soon", None),
        ("", None),
        ("1e9", None),
        ("inf", None),
        ("nan", None),
        ("١٢", None),
        ("12 s", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date_and_clamped(value, microseconds):
    assert parse_retry_after(value, now=NOW) == microseconds


@pytest.fixture
def far_east(monkeypatch):
    """A machine whose own time is hours away from UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ["GMT", "", "-0000"])
def test_a_date_without_a_zone_is_in_utc_wherever_the_machine_is(far_east, zone):
    date = to_datetime(NOW + 90 * SECOND_US).strftime("%a, %d %b %Y %H:%M:%S") + f" {zone}"

    assert parse_retry_after(date.strip(), now=NOW) == 90 * SECOND_US


@pytest.mark.parametrize(
    ("headers", "microseconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 250_000),
        ({"retry-after-ms": "-1"}, 0),
        ({"retry-after-ms": "later", "retry-after": "9"}, 9_000_000),
        ({"retry-after": "9", "x-ratelimit-reset": "60"}, 9_000_000),
        ({"x-ratelimit-reset": "60"}, 60_000_000),
        ({"x-ratelimit-reset": "1445412510"}, 30_000_000),
        ({"x-ratelimit-reset": "1445412000"}, 0),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360_000_000),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3_723_500_000),
        ({"x-ratelimit-reset-tokens": "120ms"}, 120_000),
        ({"ratelimit-reset": "5", "x-ratelimit-reset": "8"}, 8_000_000),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "12",
                "x-ratelimit-reset-tokens": "2s",
                "x-ratelimit-remaining-tokens": "0",
            },
            2_000_000,
        ),
        ({"x-ratelimit-reset": "60", "x-ratelimit-remaining": "1"}, None),
        ({"x-ratelimit-reset": "60", "x-ratelimit-remaining": "-1"}, 60_000_000),
        ({"x-ratelimit-reset": "tomorrow"}, None),
        ({"x-ratelimit-reset": ""}, None),
        ({"x-ratelimit-limit": "60"}, None),
        ({"x-ratelimit-reset-requests-note": "5"}, 5_000_000),
        ({"x-rate-limit-reset": "7"}, 7_000_000),
        ({"x-ms-retry-after-ms": "40", "retry-after": "9"}, 40_000),
        ({"anthropic-ratelimit-requests-reset": "2015-10-21T07:28:09Z"}, 9_000_000),
        ({"anthropic-ratelimit-requests-reset": "2015-10-21T09:28:09+02:00"}, 9_000_000),
        ({"anthropic-ratelimit-requests-reset": "2015-10-21T07:00:00Z"}, 0),
        ({"anthropic-ratelimit-requests-reset": "2015-10-21T07:28:09"}, None),
        (
            {
                "anthropic-ratelimit-requests-reset": "2015-10-21T07:28:09Z",
                "anthropic-ratelimit-requests-remaining": "3",
            },
            None,
        ),
        ({"ratelimit": '"burst";r=0;t=12, "daily";r=9;t=80000'}, 12_000_000),
        ({"ratelimit": '"burst";r=0;t=12, "daily";r=0;t=60'}, 60_000_000),
        ({"ratelimit": '"burst";r=10;t=12'}, None),
        ({"ratelimit": "r=0"}, None),
    ],
)
def test_the_wait_comes_from_the_most_exact_header(headers, microseconds):
    carrier = Carrier(status_code=429, headers=headers)

    assert retry_after_us_of(carrier, now=NOW) == microseconds


def test_a_rate_limits_reset_means_nothing_unless_the_limit_was_the_reason():
    carrier = Carrier(status_code=500, headers={"x-ratelimit-reset": "60"})

    assert retry_after_us_of(carrier, now=NOW) is None


@pytest.mark.parametrize(
    ("value", "asked_us", "waited_us"),
    [
        ("-5", 0, BACKOFF_US),
        ("-99999999999999999999", 0, BACKOFF_US),
        ("0", 0, BACKOFF_US),
        ("30", 30 * SECOND_US, 30 * SECOND_US),
        ("31536000", YEAR_US, CEILING_US),
        ("31536001", YEAR_US, CEILING_US),
        ("9" * 99, YEAR_US, CEILING_US),
        ("Wed, 21 Oct 2015 07:27:59 GMT", 0, BACKOFF_US),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, BACKOFF_US),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30 * SECOND_US, 30 * SECOND_US),
        ("Fri, 31 Dec 9999 23:59:59 GMT", YEAR_US, CEILING_US),
        ("Wed, 21 Oct 99999 07:28:30 GMT", None, BACKOFF_US),
        ("soon", None, BACKOFF_US),
        ("", None, BACKOFF_US),
        ("\x00", None, BACKOFF_US),
        ("12; drop table", None, BACKOFF_US),
        ("1e400", None, BACKOFF_US),
        ("0x10", None, BACKOFF_US),
        ("9" * 1_000, None, BACKOFF_US),
    ],
)
def test_whatever_an_upstream_asks_for_the_wait_is_within_bounds(value, asked_us, waited_us):
    answer = response(status_code=429, headers={"Retry-After": value})

    failure = classify(Carrier(response=answer), now=NOW)
    delay_us = RETRY.delay_us(failures=1, roll=0.5, retry_after_us=failure.retry_after_us)

    assert (failure.error_class, failure.retry_after_us) == ("RATE_LIMITED", asked_us)
    assert delay_us == waited_us
