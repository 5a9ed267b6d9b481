"""Delays and budgets: the bounds hold for every policy, every roll and every number of failures."""

import dataclasses
import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.retry import MAX_ATTEMPTS, UNCAPPED_DELAY_S, Jitter, Retry
from holdfast.errors import InvalidPolicy, UsageError

SECOND = 1_000_000

rolls = st.floats(min_value=0, max_value=1, exclude_max=True)
failure_counts = st.one_of(st.integers(1, 50), st.sampled_from([1_025, 10**6, 10**18]))
seconds = st.floats(min_value=0, max_value=5_000)


@st.composite
def policies(draw, jitters=tuple(Jitter), *, listed=True, growing=False):
    cap = draw(st.one_of(st.none(), st.floats(min_value=0.001, max_value=100_000)))
    limit = UNCAPPED_DELAY_S if cap is None else cap
    jitter = draw(st.sampled_from(jitters))
    spread = {
        Jitter.ADDED: st.floats(0, 1_000),
        Jitter.SPREAD: st.floats(0, 1),
    }.get(jitter, st.just(0.0))
    chosen_spread = draw(spread)
    in_range = st.floats(min_value=0.000_001, max_value=limit)
    return Retry(
        attempts=draw(st.integers(1, MAX_ATTEMPTS)),
        base=draw(in_range if growing else st.one_of(st.just(0.0), in_range)),
        factor=draw(st.floats(min_value=1.01 if growing else 1, max_value=1_000)),
        cap=cap,
        floor=draw(st.one_of(st.just(0.0), in_range)),
        jitter=jitter,
        spread=chosen_spread,
        spread_min=draw(st.floats(0, chosen_spread)) if jitter is Jitter.ADDED else 0.0,
        delays=draw(st.none() | st.lists(in_range, min_size=1, max_size=5)) if listed else None,
        retry_after_ceiling=draw(seconds),
        honour_retry_after=draw(st.booleans()),
    )


def delay_s(policy, failures, roll=0.0, retry_after=None):
    retry_after_us = None if retry_after is None else int(retry_after * SECOND)
    delay_us = policy.delay_us(failures=failures, roll=roll, retry_after_us=retry_after_us)
    return delay_us / SECOND


def test_without_jitter_the_backoff_doubles_from_the_base_and_stops_at_the_cap():
    policy = Retry(base=1, jitter="none")

    assert [delay_s(policy, n) for n in range(1, 10)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_full_jitter_reaches_from_nothing_to_the_backoff():
    policy = Retry()

    assert delay_s(policy, 4, roll=0.0) == 0
    assert delay_s(policy, 4, roll=0.5) == 4
    assert delay_s(policy, 4, roll=0.999_999) == pytest.approx(8, abs=0.001)


def test_full_jitter_starts_at_the_floor():
    policy = Retry(floor=2)

    assert delay_s(policy, 4, roll=0.0) == 2
    assert delay_s(policy, 4, roll=0.5) == 5


def test_added_jitter_lies_on_top_of_the_backoff():
    policy = Retry(base=5, jitter="added", spread=5, spread_min=1)

    assert delay_s(policy, 1, roll=0.0) == 6
    assert delay_s(policy, 1, roll=0.5) == 8
    assert delay_s(policy, 2, roll=0.5) == 13


def test_spread_jitter_lies_on_both_sides_of_the_backoff():
    policy = Retry(base=10, jitter="spread", spread=0.2)

    assert delay_s(policy, 1, roll=0.0) == 8
    assert delay_s(policy, 1, roll=0.5) == 10
    assert delay_s(policy, 1, roll=0.75) == 11


def test_spread_jitter_stays_above_the_floor():
    assert delay_s(Retry(base=10, floor=9, jitter="spread", spread=0.2), 1, roll=0.0) == 9


def test_the_cap_bounds_the_jitter_too():
    policy = Retry(base=58, jitter="added", spread=5)

    assert delay_s(policy, 1, roll=0.9) == 60


def test_the_nth_failure_uses_the_nth_delay_and_the_last_repeats():
    policy = Retry(delays=[5, 15, 45], jitter="none")

    assert [delay_s(policy, n) for n in (1, 2, 3, 4, 10**6)] == [5, 15, 45, 45, 45]


def test_a_count_of_failures_below_one_is_taken_as_the_first():
    assert delay_s(Retry(jitter="none"), 0) == 1
    assert delay_s(Retry(delays=[5, 15], jitter="none"), 0) == 5


def test_a_floor_lifts_a_smaller_backoff():
    assert delay_s(Retry(base=0.5, floor=3, jitter="none"), 1) == 3


def test_a_constant_backoff_stays_constant():
    assert delay_s(Retry(base=7, factor=1, jitter="none"), 10**6) == 7


def test_a_zero_base_never_waits():
    assert delay_s(Retry(base=0, jitter="none"), 10**6) == 0


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [
        (None, 2),
        (-5, 2),
        (0, 2),
        (1.5, 2),
        (10, 10),
        (299.5, 299.5),
        (301, 300),
        (365 * 24 * 3600, 300),
    ],
)
def test_retry_after_is_a_floor_under_a_ceiling(retry_after, expected):
    policy = Retry(jitter="none")

    assert delay_s(policy, 2, retry_after=retry_after) == expected


def test_a_ceiling_below_the_backoff_does_not_shorten_it():
    policy = Retry(base=50, jitter="none", retry_after_ceiling=10)

    assert delay_s(policy, 1, retry_after=1_000) == 50


def test_retry_after_can_be_left_unheard():
    policy = Retry(jitter="none", honour_retry_after=False)

    assert delay_s(policy, 1, retry_after=100) == 1


@given(policies(), failure_counts, rolls)
def test_every_delay_lies_between_floor_and_cap(policy, failures, roll):
    delay_us = policy.delay_us(failures=failures, roll=roll, retry_after_us=None)

    limit = UNCAPPED_DELAY_S if policy.cap is None else policy.cap
    assert type(delay_us) is int
    assert math.floor(policy.floor * SECOND) <= delay_us <= limit * SECOND


@given(policies(), failure_counts, rolls, st.integers(-(10**18), 10**18))
def test_retry_after_never_shortens_a_delay_nor_passes_its_ceiling(
    policy, failures, roll, retry_after_us
):
    alone = policy.delay_us(failures=failures, roll=roll, retry_after_us=None)

    asked = policy.delay_us(failures=failures, roll=roll, retry_after_us=retry_after_us)

    assert alone <= asked <= max(alone, policy.retry_after_ceiling * SECOND)
    if policy.honour_retry_after:
        assert asked >= min(retry_after_us, int(policy.retry_after_ceiling * SECOND))
    else:
        assert asked == alone


@given(policies(jitters=(Jitter.NONE,), listed=False), st.integers(1, 200))
def test_a_backoff_never_shrinks_as_failures_mount(policy, failures):
    assert delay_s(policy, failures) <= delay_s(policy, failures + 1)


@given(policies(jitters=(Jitter.NONE,), listed=False, growing=True))
def test_a_growing_backoff_reaches_the_cap_and_never_overflows(policy):
    limit = UNCAPPED_DELAY_S if policy.cap is None else policy.cap
    assert delay_s(policy, 10**6) == pytest.approx(limit, abs=0.000_001)


@given(policies(jitters=(Jitter.FULL, Jitter.ADDED, Jitter.SPREAD)), rolls, rolls)
def test_a_higher_roll_never_gives_a_shorter_delay(policy, one, other):
    low, high = sorted((one, other))

    assert delay_s(policy, 3, roll=low) <= delay_s(policy, 3, roll=high)


@pytest.mark.parametrize(
    "policy",
    [Retry(), Retry(jitter="added", spread=1), Retry(jitter="spread", spread=0.2)],
    ids=lambda policy: policy.jitter.value,
)
def test_two_rolls_give_two_delays(policy):
    delays = {policy.delay_us(failures=3, roll=n / 100, retry_after_us=None) for n in range(100)}

    assert len(delays) == 100


def test_the_budget_counts_the_first_attempt():
    policy = Retry(attempts=3)

    assert [policy.exhausted(attempt) for attempt in (1, 2, 3, 4)] == [False, False, True, True]


@given(policies())
def test_a_policy_survives_its_document_exactly(policy):
    stored = json.loads(json.dumps(policy.to_document()))

    assert Retry.from_document(stored) == policy
    assert json.dumps(Retry.from_document(stored).to_document()) == json.dumps(stored)


def test_the_largest_numbers_allowed_are_allowed():
    year = 365 * 24 * 3600

    policy = Retry(attempts=10_000, cap=year, delays=[1] * 10_000, retry_after_ceiling=year)

    assert len(policy.delays) == 10_000
    with pytest.raises(InvalidPolicy, match="delays"):
        Retry(delays=[1] * 10_001)
    with pytest.raises(InvalidPolicy, match="cap"):
        Retry(cap=year + 1)


def test_a_base_without_a_cap_is_told_of_the_bound_that_holds_instead():
    with pytest.raises(InvalidPolicy, match="24 hours without a cap"):
        Retry(base=86_401, cap=None)


def test_equal_policies_have_equal_documents_however_they_were_written():
    one = Retry(base=5, cap=60, jitter="added", spread=5, delays=[1, 2])
    other = Retry(base=5.0, cap=60.0, jitter=Jitter.ADDED, spread=5.0, delays=(1.0, 2.0))

    assert one == other
    assert hash(one) == hash(other)
    assert json.dumps(one.to_document()) == json.dumps(other.to_document())


def test_a_document_may_leave_defaults_out():
    assert Retry.from_document({"attempts": 2}) == Retry(attempts=2)


def test_a_document_with_an_unknown_field_is_refused():
    with pytest.raises(InvalidPolicy, match="warp"):
        Retry.from_document({"attempts": 2, "warp": 9})


def test_a_policy_can_be_copied_with_changes_and_pickled():
    policy = dataclasses.replace(Retry(base=2, jitter="none"), base=4)

    assert delay_s(policy, 1) == 4
    assert delay_s(pickle.loads(pickle.dumps(policy)), 2) == 8


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("attempts", {"attempts": 0}),
        ("attempts", {"attempts": -1}),
        ("attempts", {"attempts": 10_001}),
        ("attempts", {"attempts": 2.0}),
        ("attempts", {"attempts": True}),
        ("attempts", {"attempts": "3"}),
        ("base", {"base": -1}),
        ("base", {"base": math.nan}),
        ("base", {"base": math.inf}),
        ("base", {"base": True}),
        ("base", {"base": "1"}),
        ("base", {"base": 10**400}),
        ("base", {"base": 61}),
        ("base", {"base": 1e-9}),
        ("base", {"base": 86_401, "cap": None}),
        ("factor", {"factor": 0.5}),
        ("factor", {"factor": 1_001}),
        ("factor", {"factor": math.nan}),
        ("cap", {"cap": -1}),
        ("cap", {"cap": math.inf}),
        ("cap", {"cap": 1e9}),
        ("floor", {"floor": 61}),
        ("floor", {"floor": -0.1}),
        ("jitter", {"jitter": "some"}),
        ("jitter", {"jitter": None}),
        ("jitter", {"jitter": ["full"]}),
        ("spread", {"spread": 1}),
        ("spread", {"jitter": "none", "spread": 1}),
        ("spread", {"jitter": "spread", "spread": 1.1}),
        ("spread", {"jitter": "added", "spread": -1}),
        ("spread", {"jitter": "added", "spread": math.nan}),
        ("spread_min", {"jitter": "added", "spread": 1, "spread_min": 2}),
        ("spread_min", {"jitter": "spread", "spread": 0.5, "spread_min": 0.1}),
        ("delays", {"delays": []}),
        ("delays", {"delays": 5}),
        ("delays", {"delays": "5"}),
        ("delays[1]", {"delays": [5, -1]}),
        ("delays[0]", {"delays": [math.inf]}),
        ("delays[0]", {"delays": [False]}),
        ("delays[2]", {"delays": [5, 15, 300]}),
        ("retry_after_ceiling", {"retry_after_ceiling": -1}),
        ("retry_after_ceiling", {"retry_after_ceiling": None}),
        ("honour_retry_after", {"honour_retry_after": 1}),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_field_value_and_limit(field, arguments):
    with pytest.raises(InvalidPolicy) as caught:
        Retry(**arguments)

    assert caught.value.field == field
    assert caught.value.limit in str(caught.value)
    assert caught.value.value in str(caught.value)
    assert isinstance(caught.value, UsageError)


def test_attempts_that_were_made_were_allowed():
    assert [Retry(attempts=3).allowed_at(attempt) for attempt in (0, 3, 4)] == [3, 3, 4]
