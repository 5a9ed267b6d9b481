"""How rules are matched, in which order, and what happens when none is."""

import asyncio
import gc
import time
import weakref

import pytest

from holdfast.classify import Rule, Verdict, classify, is_failure
from holdfast.classify.table import Table, classify_by
from holdfast.core.failure import Category, ErrorClass, Severity
from holdfast.errors import GiveUp, InvalidPolicy, InvalidValue, RetryLater
from holdfast.secrecy import keep_secret

NOW = 1_445_412_480_000_000

RETRY = Verdict("MY_RETRY", retryable=True)
STOP = Verdict("MY_STOP", retryable=False)


class LibraryError(Exception):
    pass


class LibraryTimeout(LibraryError):
    pass


class Limited(Exception):
    def __init__(self, wait):
        super().__init__("limited")
        self.status_code = 429
        self.headers = {"retry-after": str(wait)}


def from_module(name, module):
    return type(name, (Exception,), {"__module__": module})


def chained(outer, cause):
    outer.__cause__ = cause
    return outer


def test_the_first_rule_that_matches_wins():
    rules = [Rule(LibraryTimeout, RETRY), Rule(LibraryError, STOP)]

    assert classify(LibraryTimeout(), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(LibraryError(), rules, now=NOW).error_class == "MY_STOP"


def test_a_rule_may_name_several_classes():
    rules = [Rule((KeyError, LibraryError), RETRY)]

    assert classify(KeyError("k"), rules, now=NOW).error_class == "MY_RETRY"


def test_a_users_rule_overrides_what_holds_everywhere():
    assert classify(TimeoutError(), [Rule(TimeoutError, STOP)], now=NOW).retryable is False


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("vendor.ReadTimeout", True),
        ("vendor.errors.ReadTimeout", True),
        ("vendor.*", True),
        ("vendor.errors.*", True),
        ("vendor.WriteTimeout", False),
        ("vendor.other.ReadTimeout", False),
        ("vend.ReadTimeout", False),
        ("vend.*", False),
    ],
)
def test_a_rule_may_name_a_class_that_is_not_imported(pattern, matches):
    base = from_module("ReadTimeout", "vendor.errors")
    derived = type("Mine", (base,), {"__module__": "mine"})

    for kind in (base, derived):
        found = classify(kind(), [Rule(pattern, RETRY)], now=NOW).error_class
        assert found == ("MY_RETRY" if matches else "BUG")


def test_a_rule_may_look_at_the_exception_and_the_time():
    def judge(error, now):
        return RETRY if error.args == (now,) else None

    rules = [Rule(LibraryError, judge), Rule(LibraryError, STOP)]

    assert classify(LibraryError(NOW), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(LibraryError(0), rules, now=NOW).error_class == "MY_STOP"


def test_a_rule_that_raises_is_passed_over_and_noted():
    def broken(error, now):
        raise ZeroDivisionError("oops")

    rules = [Rule(LibraryError, broken), Rule(LibraryError, STOP)]

    failure = classify(LibraryError("x"), rules, now=NOW)

    assert failure.error_class == "MY_STOP"
    assert failure.stack.startswith("a rule raised ZeroDivisionError: oops\n")


def test_what_no_rule_knows_is_a_bug_and_not_retried():
    failure = classify(LibraryError("odd"), now=NOW)

    assert failure.error_class == "BUG"
    assert failure.retryable is False
    assert failure.category is Category.PERMANENT
    assert failure.severity is Severity.CRITICAL
    assert failure.message == "odd"
    assert failure.exception_type.endswith("LibraryError")


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


def test_a_rule_of_its_own_still_takes_status_and_wait_from_the_exception():
    failure = classify(Limited(7), [Rule(Limited, RETRY)], now=NOW)

    assert failure.error_class == "MY_RETRY"
    assert failure.http_status == 429
    assert failure.retry_after_us == 7_000_000


def test_a_failure_that_is_not_retried_asks_for_no_wait():
    failure = classify(Limited(7), [Rule(Limited, STOP)], now=NOW)

    assert failure.http_status == 429
    assert failure.retry_after_us is None


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


def test_giving_up_comes_before_every_rule():
    failure = classify(GiveUp("CONTENT_POLICY", "no"), [Rule(Exception, RETRY)], now=NOW)

    assert (failure.error_class, failure.message) == ("CONTENT_POLICY", "no")
    assert failure.retryable is False


def test_giving_up_without_a_message_is_named_by_its_class():
    assert classify(GiveUp("AUTH_DENIED"), now=NOW).message == "AUTH_DENIED"


def test_an_empty_table_knows_nothing():
    assert classify_by(TimeoutError(), [], now=NOW).error_class == "BUG"


def test_category_and_severity_follow_from_whether_a_retry_helps():
    assert RETRY.effective_category is Category.TRANSIENT
    assert RETRY.effective_severity is Severity.WARNING
    assert STOP.effective_category is Category.PERMANENT
    assert STOP.effective_severity is Severity.ERROR
    critical = Verdict("X", retryable=False, category=Category.CRITICAL)
    assert critical.effective_severity is Severity.CRITICAL
    quiet = Verdict("X", retryable=False, severity=Severity.INFO)
    assert quiet.effective_severity is Severity.INFO


@pytest.mark.parametrize(
    "match",
    [(), int, "nodots", "", "a b.C", (ValueError, 5), ("a.B", "c"), None, ValueError("instance")],
)
def test_a_rule_that_can_match_nothing_is_refused(match):
    with pytest.raises(InvalidPolicy) as caught:
        Rule(match, RETRY)

    assert caught.value.field == "match"


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
        ("retry_after_us", {"retry_after_us": -1}),
        ("retry_after_us", {"retry_after_us": "5"}),
        ("blames_upstream", {"blames_upstream": 1}),
    ],
)
def test_a_verdict_of_the_wrong_kind_is_refused(field, arguments):
    with pytest.raises(InvalidValue) as caught:
        Verdict(**{"error_class": "X", "retryable": True, **arguments})

    assert caught.value.field == field


def test_a_rule_may_name_classes_and_names_together():
    rules = [Rule((KeyError, "vendor.Timeout", "seller.*"), RETRY)]

    assert classify(KeyError("k"), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Timeout", "vendor")(), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Any", "seller.api")(), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Other", "vendor")(), rules, now=NOW).error_class == "BUG"


def test_a_limit_on_attempts_reaches_the_failure():
    few = Verdict("MY_RETRY", retryable=True, attempts=2)

    assert classify(LibraryError(), [Rule(LibraryError, few)], now=NOW).attempts == 2
    assert classify(LibraryError(), [Rule(LibraryError, RETRY)], now=NOW).attempts is None


def test_of_members_worth_a_retry_the_one_with_the_fewest_attempts_decides():
    few = Verdict("FEW", retryable=True, attempts=2)
    fewer = Verdict("FEWER", retryable=True, attempts=1)
    rules = [Rule(LibraryTimeout, fewer), Rule(LibraryError, few)]
    group = ExceptionGroup("g", [Limited(30), LibraryError(), LibraryTimeout(), LibraryError()])

    assert classify(group, rules, now=NOW).error_class == "FEWER"


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


def test_a_table_finds_the_rules_for_a_class_in_their_order():
    rules = [Rule(LibraryError, STOP), Rule(KeyError, STOP), Rule(Exception, RETRY)]
    table = Table(rules)

    assert table.rules_for(LibraryTimeout) == (rules[0], rules[2])
    assert table.rules_for(LibraryTimeout) == (rules[0], rules[2])
    assert table.rules_for(KeyboardInterrupt) == ()


def test_a_table_does_not_keep_classes_alive():
    table = Table([Rule(Exception, RETRY)])
    kind = from_module("Passing", "vendor")
    assert table.verdict_on(kind(), now=NOW) is RETRY
    left = weakref.ref(kind)

    del kind
    gc.collect()

    assert left() is None


def test_a_class_that_cannot_be_remembered_is_judged_each_time():
    class Unhashable(type):
        __hash__ = None

        def __eq__(cls, other):
            return cls is other

    class Odd(Exception, metaclass=Unhashable):
        pass

    table = Table([Rule(Exception, RETRY)])

    assert table.verdict_on(Odd(), now=NOW) is RETRY
    assert table.verdict_on(Odd(), now=NOW) is RETRY
    assert classify(Odd(), now=NOW).error_class == "BUG"


def test_a_table_passes_over_a_rule_that_raises():
    def broken(error, now):
        raise ZeroDivisionError("oops")

    table = Table([Rule(LibraryError, broken), Rule(LibraryError, STOP)])

    assert table.verdict_on(LibraryError(), now=NOW) is STOP
    assert table.verdict_on(KeyError("k"), now=NOW) is None


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
