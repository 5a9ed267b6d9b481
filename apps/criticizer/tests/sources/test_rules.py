"""What the failures of sources mean to the engine."""

import pytest

from criticizer.sources import errors
from criticizer.sources.rules import SOURCE_RULES
from holdfast.classify import Category, classify


@pytest.mark.parametrize(
    ("raised", "error_class", "retryable"),
    [
        (errors.ChangeMissing, "NOT_FOUND", False),
        (errors.ChangeTooLarge, "CHANGE_TOO_LARGE", False),
        (errors.BadChangeId, "SCHEMA_INVALID", False),
        (errors.NotADiff, "SCHEMA_INVALID", False),
        (errors.SourceUnusable, "AUTH_DENIED", False),
        (errors.SourceFailed, "NETWORK", True),
        (errors.SourceTimedOut, "NETWORK_TIMEOUT", True),
    ],
)
def test_each_failure_has_its_class(raised, error_class, retryable):
    failure = classify(raised("x"), rules=SOURCE_RULES, now=0)

    assert (failure.error_class, failure.retryable) == (error_class, retryable)


def test_only_what_may_pass_counts_against_the_source():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    blamed = {
        kind
        for kind in kinds
        if kind is not errors.SourceError
        and classify(kind("x"), rules=SOURCE_RULES, now=0).blames_upstream
    }

    assert blamed == {errors.SourceFailed, errors.SourceTimedOut}


def test_a_source_that_cannot_be_used_needs_a_person():
    failure = classify(errors.SourceUnusable("x"), rules=SOURCE_RULES, now=0)

    assert failure.category is Category.CRITICAL
