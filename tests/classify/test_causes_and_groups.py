"""Exceptions with causes and members: which of them decides."""

import asyncio
import time

import pytest

from holdfast.classify import Rule, Verdict, classify, is_failure
from holdfast.core.values.failure import Category
from holdfast.errors import RetryLater
from tests.classify.library import NOW, STOP, LibraryError, LibraryTimeout, Limited, chained


def test_a_known_exception_is_judged_by_itself_not_by_its_cause():
    error = chained(PermissionError("denied"), ConnectionResetError())

    assert classify(error, now=NOW).error_class == "IO_ERROR"


def test_an_unknown_exception_is_judged_by_what_it_came_from():
    middle = chained(LibraryError("middle"), ConnectionResetError("reset"))

    failure = classify(chained(LibraryError("outer"), middle), now=NOW)

    assert failure.error_class == "NETWORK"
    assert failure.message == "outer"
    assert "caused by ConnectionResetError: reset" in failure.stack


def test_a_programming_error_stays_one_whatever_was_being_handled():
    error = KeyError("missing")
    error.__context__ = ConnectionResetError()

    assert classify(error, now=NOW).error_class == "BUG"


def test_causes_in_a_circle_are_a_bug_at_the_end():
    one, other = LibraryError("one"), LibraryError("other")
    one.__cause__, other.__cause__ = other, one

    assert classify(one, now=NOW).error_class == "BUG"


def test_a_group_whose_members_may_all_succeed_later_is_retried_after_the_longest_wait():
    group = ExceptionGroup("g", [ConnectionResetError(), Limited(7), Limited(30), Limited(9)])

    failure = classify(group, now=NOW)

    assert failure.retryable is True
    assert failure.error_class == "RATE_LIMITED"
    assert failure.retry_after_us == 30_000_000
    assert "ExceptionGroup" in failure.exception_type


def test_one_member_that_cannot_succeed_decides_for_its_group():
    group = ExceptionGroup("g", [ConnectionResetError(), ExceptionGroup("h", [PermissionError()])])

    assert classify(group, now=NOW).error_class == "IO_ERROR"
    assert classify(group, now=NOW).retryable is False


def test_of_members_that_cannot_succeed_the_critical_one_decides():
    critical = Verdict("KEY_REVOKED", retryable=False, category=Category.CRITICAL)
    group = ExceptionGroup("g", [PermissionError(), LibraryError(), PermissionError()])

    failure = classify(group, [Rule(LibraryError, critical)], now=NOW)

    assert failure.error_class == "KEY_REVOKED"


def test_a_group_comes_before_rules_for_everything():
    group = ExceptionGroup("g", [ConnectionResetError()])

    assert classify(group, [Rule(ExceptionGroup, STOP)], now=NOW).error_class == "NETWORK"


def test_a_member_whose_cause_is_its_own_group_ends():
    members = [LibraryError(str(number)) for number in range(60)]
    group = ExceptionGroup("g", members)
    for member in members:
        member.__cause__ = group

    started = time.perf_counter()
    failure = classify(group, now=NOW)

    assert failure.error_class == "BUG"
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "exception",
    [
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        SystemExit(1),
        GeneratorExit(),
        RetryLater(after=5),
        BaseExceptionGroup("all stopped", [KeyboardInterrupt(), asyncio.CancelledError()]),
    ],
    ids=lambda exception: type(exception).__name__,
)
def test_what_is_no_failure_is_raised_again(exception):
    assert not is_failure(exception)
    with pytest.raises(type(exception)) as caught:
        classify(exception, [Rule(BaseException, STOP)], now=NOW)

    assert caught.value is exception


def test_a_group_that_also_holds_a_failure_is_one():
    group = BaseExceptionGroup("mixed", [KeyboardInterrupt(), ConnectionResetError()])

    assert is_failure(group)
    assert classify(group, now=NOW).error_class == "NETWORK"


def test_a_cause_that_is_no_failure_explains_none():
    stopped = BaseExceptionGroup("all stopped", [KeyboardInterrupt()])

    assert classify(chained(LibraryError(), stopped), now=NOW).error_class == "BUG"


def test_an_unusual_kind_of_base_exception_is_a_bug():
    class Strange(BaseException):
        pass

    assert classify(Strange(), now=NOW).error_class == "BUG"


def test_of_members_worth_a_retry_the_one_with_the_fewest_attempts_decides():
    few = Verdict("FEW", retryable=True, attempts=2)
    fewer = Verdict("FEWER", retryable=True, attempts=1)
    rules = [Rule(LibraryTimeout, fewer), Rule(LibraryError, few)]
    group = ExceptionGroup("g", [Limited(30), LibraryError(), LibraryTimeout(), LibraryError()])

    assert classify(group, rules, now=NOW).error_class == "FEWER"
