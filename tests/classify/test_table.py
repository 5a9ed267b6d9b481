"""How rules are matched, in which order, and what happens when none is."""

import asyncio
import gc
import weakref
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.classify import Rule, classify, failure_of
from holdfast.classify.table import Table, classify_by
from holdfast.classify.verdicts import INVALID
from holdfast.core.values.failure import Category, Failure, Severity
from holdfast.errors import GiveUp, InvalidPolicy, RetryLater
from tests.classify.library import NOW, RETRY, STOP, LibraryError, LibraryTimeout, from_module


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


def test_a_rule_that_reads_answers_is_asked_only_where_there_may_be_one():
    asked = []

    def judge(error, now):
        asked.append(error)

    table = Table([Rule(Exception, judge, reads_answer=True), Rule(Exception, INVALID)])
    bare, with_answer, derived = OSError("x"), OSError("x"), LibraryError("x")
    with_answer.response = object()

    for error in (bare, with_answer, derived):
        assert classify_by(error, [], table=table, now=NOW).error_class == "INVALID"
        assert table.verdict_on(error, now=NOW) is INVALID
        assert classify(error, table.rules, now=NOW).error_class == "INVALID"

    assert asked == [with_answer] * 3 + [derived] * 3


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), KeyboardInterrupt(), RetryLater(after=1)]
)
def test_what_is_no_failure_becomes_none(error):
    assert failure_of(error, now=NOW) is None
    with pytest.raises(type(error)):
        classify(error, now=NOW)


@given(
    message=st.text(st.characters(exclude_categories=[])),
    kind=st.sampled_from([ValueError, TimeoutError, KeyError, LibraryError]),
    told=st.none() | st.text(st.characters(exclude_categories=[])),
)
def test_a_classified_failure_is_as_safe_as_one_that_was_checked(message, kind, told):
    def judge(error, now):
        return replace(RETRY, message=told, retry_after_us=5)

    for rules in ([], [Rule(Exception, judge)]):
        failure = classify(kind(message), rules, now=NOW)

        assert Failure(**failure._asdict()) == failure


def test_what_no_rule_knows_is_a_bug_and_not_retried():
    failure = classify(LibraryError("odd"), now=NOW)

    assert failure.error_class == "BUG"
    assert failure.retryable is False
    assert failure.category is Category.PERMANENT
    assert failure.severity is Severity.CRITICAL
    assert failure.message == "odd"
    assert failure.exception_type.endswith("LibraryError")


def test_giving_up_comes_before_every_rule():
    failure = classify(GiveUp("CONTENT_POLICY", "no"), [Rule(Exception, RETRY)], now=NOW)

    assert (failure.error_class, failure.message) == ("CONTENT_POLICY", "no")
    assert failure.retryable is False


def test_giving_up_without_a_message_is_named_by_its_class():
    assert classify(GiveUp("AUTH_DENIED"), now=NOW).message == "AUTH_DENIED"


def test_an_empty_table_knows_nothing():
    assert classify_by(TimeoutError(), [], now=NOW).error_class == "BUG"


@pytest.mark.parametrize(
    "match",
    [(), int, "nodots", "", "a b.C", (ValueError, 5), ("a.B", "c"), None, ValueError("instance")],
)
def test_a_rule_that_can_match_nothing_is_refused(match):
    with pytest.raises(InvalidPolicy) as caught:
        Rule(match, RETRY)

    assert caught.value.field == "match"


def test_a_rule_may_name_classes_and_names_together():
    rules = [Rule((KeyError, "vendor.Timeout", "seller.*"), RETRY)]

    assert classify(KeyError("k"), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Timeout", "vendor")(), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Any", "seller.api")(), rules, now=NOW).error_class == "MY_RETRY"
    assert classify(from_module("Other", "vendor")(), rules, now=NOW).error_class == "BUG"


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
