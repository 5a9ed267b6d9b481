"""Failures that bring their verdict with them, and input that was refused before it was sent."""

import copy
import pickle

import pytest

from holdfast.classify import ProviderError, Rule, Verdict, classify
from holdfast.errors import InvalidDocument, InvalidValue
from tests.classify import rows
from tests.classify.rows import NOW, row_of

VERDICT = Verdict("MAILBOX_FULL", retryable=True, outcome_known=False, blames_upstream=True)


def test_a_providers_error_is_judged_by_its_own_verdict():
    error = ProviderError(VERDICT, "full", status_code=507, headers={"Retry-After": "9"})

    failure = classify(error, now=NOW)

    assert row_of(error) == rows.retried("MAILBOX_FULL", known=False, blames=True)
    assert (failure.message, failure.http_status) == ("full", 507)
    assert failure.retry_after_us == 9_000_000


def test_a_rule_of_the_user_comes_before_the_verdict_of_the_provider():
    mine = Rule(ProviderError, Verdict("MINE", retryable=False))

    assert classify(ProviderError(VERDICT, "full"), [mine], now=NOW).error_class == "MINE"


@pytest.mark.parametrize("carried", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_providers_error_survives_the_way_to_another_process(carried):
    error = carried(ProviderError(VERDICT, "full", status_code=507, headers={"a": "b"}))

    assert (error.verdict, str(error)) == (VERDICT, "full")
    assert (error.status_code, error.headers) == (507, {"a": "b"})


def test_input_that_was_refused_was_not_sent():
    value = InvalidValue("message", field="to", value="nobody", limit="an address")
    document = InvalidDocument("message", path="", limit="JSON", found="a set")

    assert row_of(value) == row_of(document) == rows.INVALID
