"""What a verdict may say, and what of it reaches the failure."""

from dataclasses import replace

import pytest

from holdfast.classify import Rule, Verdict, classify
from holdfast.classify.table import classify_by
from holdfast.core.values.failure import Category, ErrorClass, Severity
from holdfast.errors import GiveUp, InvalidPolicy, InvalidValue
from holdfast.secrecy import keep_secret
from tests.classify.library import NOW, RETRY, STOP, LibraryError, Limited


def test_a_rule_of_its_own_still_takes_status_and_wait_from_the_exception():
    failure = classify(Limited(7), [Rule(Limited, RETRY)], now=NOW)

    assert failure.error_class == "MY_RETRY"
    assert failure.http_status == 429
    assert failure.retry_after_us == 7_000_000


def test_a_failure_that_is_not_retried_asks_for_no_wait():
    failure = classify(Limited(7), [Rule(Limited, STOP)], now=NOW)

    assert failure.http_status == 429
    assert failure.retry_after_us is None


def test_category_and_severity_follow_from_whether_a_retry_helps():
    assert RETRY.effective_category is Category.TRANSIENT
    assert RETRY.effective_severity is Severity.WARNING
    assert STOP.effective_category is Category.PERMANENT
    assert STOP.effective_severity is Severity.ERROR
    critical = Verdict("X", retryable=False, category=Category.CRITICAL)
    assert critical.effective_severity is Severity.CRITICAL
    quiet = Verdict("X", retryable=False, severity=Severity.INFO)
    assert quiet.effective_severity is Severity.INFO


def test_a_rule_without_a_verdict_is_refused():
    with pytest.raises(InvalidPolicy, match="verdict"):
        Rule(ValueError, "retry")


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("error_class", {"error_class": "lower"}),
        ("retryable", {"retryable": 1}),
        ("outcome_known", {"outcome_known": None}),
        ("category", {"category": "TRANSIENT"}),
        ("severity", {"severity": "LOUD"}),
        ("attempts", {"attempts": 0}),
        ("attempts", {"attempts": 2.0}),
        ("attempts", {"attempts": True}),
        ("attempts", {"attempts": 10_001}),
        ("own_budget", {"own_budget": 1, "attempts": 2}),
        ("own_budget", {"own_budget": True}),
        ("spends_attempt", {"spends_attempt": 0}),
        ("spends_attempt", {"spends_attempt": False, "retryable": False}),
        ("spends_attempt", {"spends_attempt": False, "attempts": 2}),
        ("user_error", {"user_error": 1, "retryable": False}),
        ("user_error", {"user_error": True}),
        ("retry_after_us", {"retry_after_us": -1}),
        ("retry_after_us", {"retry_after_us": "5"}),
        ("blames_upstream", {"blames_upstream": 1}),
    ],
)
def test_a_verdict_of_the_wrong_kind_is_refused(field, arguments):
    with pytest.raises(InvalidValue) as caught:
        Verdict(**{"error_class": "X", "retryable": True, **arguments})

    assert caught.value.field == field


def test_a_limit_on_attempts_reaches_the_failure():
    few = Verdict("MY_RETRY", retryable=True, attempts=2)

    failure = classify(LibraryError(), [Rule(LibraryError, few)], now=NOW)
    assert (failure.attempts, failure.own_budget) == (2, False)
    own = [Rule(LibraryError, replace(few, own_budget=True))]
    assert classify(LibraryError(), own, now=NOW).own_budget
    assert classify(LibraryError(), [Rule(LibraryError, RETRY)], now=NOW).attempts is None


def test_a_wait_that_a_rule_read_elsewhere_reaches_the_failure():
    waits = Verdict("MY_RETRY", retryable=True, retry_after_us=5_000_000)

    assert (
        classify(LibraryError(), [Rule(LibraryError, waits)], now=NOW).retry_after_us == 5_000_000
    )


def test_a_wait_in_a_header_is_preferred():
    waits = Verdict("MY_RETRY", retryable=True, retry_after_us=5_000_000)

    assert classify(Limited(7), [Rule(Limited, waits)], now=NOW).retry_after_us == 7_000_000


def test_a_rule_for_another_protocol_reads_no_http_status():
    rules = [Rule(Limited, RETRY, speaks_http=False)]

    failure = classify(Limited(7), rules, now=NOW)

    assert failure.http_status is None
    assert failure.retry_after_us is None


BLAMING = {"NETWORK_TIMEOUT", "NETWORK", "UPSTREAM_5XX"}


@pytest.mark.parametrize("error_class", list(ErrorClass))
def test_whether_a_failure_blames_the_upstream_follows_from_its_class(error_class):
    rules = [Rule(LibraryError, Verdict(error_class, retryable=True))]

    failure = classify(LibraryError(), rules, now=NOW)

    assert failure.blames_upstream is (error_class in BLAMING)


@pytest.mark.parametrize("blames", [True, False])
def test_a_verdict_may_say_itself_whether_it_blames_the_upstream(blames):
    verdict = Verdict("NETWORK", retryable=True, blames_upstream=blames)

    failure = classify(TimeoutError(), [Rule(TimeoutError, verdict)], now=NOW)

    assert failure.blames_upstream is blames


@pytest.mark.parametrize(
    ("exception", "blames"),
    [(TimeoutError(), True), (PermissionError(), False), (LibraryError(), False)],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_with_a_name_of_its_own_blames_as_the_exception_would_have(exception, blames):
    rules = [Rule(Exception, Verdict("GW_TROUBLE", retryable=True))]

    failure = classify(exception, rules, now=NOW)

    assert (failure.error_class, failure.blames_upstream) == ("GW_TROUBLE", blames)


def test_what_an_exception_would_have_been_is_asked_without_risk():
    class Treacherous(Exception):
        @property
        def args(self):
            raise RuntimeError("no")

        def __str__(self):
            raise RuntimeError("no")

    kind = type("InterfaceError", (Treacherous,), {"__module__": "asyncpg.exceptions"})

    failure = classify(kind(), [Rule(Exception, Verdict("ODD", retryable=True))], now=NOW)

    assert (failure.error_class, failure.blames_upstream) == ("ODD", False)


def test_giving_up_never_blames_the_upstream():
    assert classify(GiveUp("NETWORK"), now=NOW).blames_upstream is False


def test_what_a_rule_says_is_told_without_secrets():
    secret = "Ty6-in-a-verdict-1Fz"
    keep_secret([secret])

    def judge(error, now):
        return Verdict("REFUSED", retryable=False, message=f"refused for {secret}")

    def broken(error, now):
        raise RuntimeError("x" * 180 + secret)

    failure = classify_by(
        ValueError("no"), [Rule(ValueError, broken), Rule(ValueError, judge)], now=NOW
    )

    assert failure.message.startswith("refused for [redacted:known")
    assert secret[:6] not in failure.text
    assert "a rule raised RuntimeError" in failure.stack
