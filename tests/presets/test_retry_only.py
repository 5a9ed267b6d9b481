"""Rules by which listed exceptions are retried and no others are."""

import httpx2
import pytest

from holdfast.classify import classify
from holdfast.core.values.failure import Category
from holdfast.errors import GiveUp, InvalidPolicy
from holdfast.presets import retry_only
from tests.presets.driving import NOW


class ResourceExhausted(Exception):
    pass


class HTTPError2(Exception):
    def __init__(self, status):
        super().__init__("http")
        self.status = status


def test_listed_exceptions_are_retried_and_others_are_not():
    rules = retry_only({ConnectionError, ResourceExhausted})

    reset = classify(ConnectionResetError(), rules, now=NOW)
    exhausted = classify(ResourceExhausted(), rules, now=NOW)
    timeout = classify(TimeoutError(), rules, now=NOW)
    odd = classify(ValueError(), rules, now=NOW)

    assert (reset.error_class, reset.retryable) == ("NETWORK", True)
    assert (exhausted.error_class, exhausted.retryable) == ("RESOURCE_EXHAUSTED", True)
    assert exhausted.outcome_known is False
    assert (timeout.error_class, timeout.retryable) == ("NETWORK_TIMEOUT", False)
    assert timeout.category is Category.TRANSIENT
    assert (odd.error_class, odd.retryable) == ("BUG", False)


@pytest.mark.parametrize(
    ("status", "retryable", "category"),
    [
        (429, True, Category.TRANSIENT),
        (503, True, Category.TRANSIENT),
        (404, False, Category.PERMANENT),
        (401, False, Category.CRITICAL),
    ],
)
def test_a_listed_exception_with_a_status_is_judged_by_it(status, retryable, category):
    rules = retry_only({HTTPError2})

    failure = classify(HTTPError2(status), rules, now=NOW)

    assert failure.retryable is retryable
    assert failure.category is category


@pytest.mark.parametrize(
    ("name", "error_class"),
    [
        ("HTTPError2", "HTTP_ERROR2"),
        ("APIResponseError", "API_RESPONSE_ERROR"),
        ("_Private", "PRIVATE"),
        ("é", "RETRYABLE"),
        ("_2", "RETRYABLE"),
        ("Very" * 40, "_".join(["VERY"] * 13)[:64].strip("_")),
    ],
)
def test_a_listed_exception_that_nothing_knows_is_named_after_its_class(name, error_class):
    kind = type(name, (Exception,), {})
    rules = retry_only({kind})

    assert classify(kind(), rules, now=NOW).error_class == error_class


def test_exceptions_of_libraries_keep_their_names():
    listed = retry_only({httpx2.TimeoutException})

    late = classify(httpx2.ReadTimeout("late"), listed, now=NOW)
    broken = classify(httpx2.ReadError("broken"), listed, now=NOW)

    assert (late.error_class, late.retryable) == ("NETWORK_TIMEOUT", True)
    assert (broken.error_class, broken.retryable) == ("NETWORK", False)


def test_giving_up_is_not_undone_by_a_list():
    rules = retry_only({Exception})

    assert classify(GiveUp("NOT_FOUND"), rules, now=NOW).retryable is False


@pytest.mark.parametrize(
    "listed", [set(), [ConnectionError], {"ConnectionError"}, {KeyboardInterrupt}, None]
)
def test_a_list_of_no_exceptions_is_refused(listed):
    with pytest.raises(InvalidPolicy) as caught:
        retry_only(listed)

    assert caught.value.field == "exceptions"
