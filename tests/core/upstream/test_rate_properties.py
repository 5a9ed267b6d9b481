"""What holds for every fleet that shares a rate, whatever becomes of its workers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.upstream.rate import APART_US
from holdfast.core.upstream.rate_policy import Rate
from tests.core.upstream.rate_fleet import Fleet, Step

rates = st.builds(
    Rate,
    st.integers(1, 60),
    per=st.sampled_from([0.1, 1, 7]),
    burst=st.none() | st.integers(1, 40),
)
steps = st.builds(
    Step,
    st.sampled_from([0, 0, 1, 1_000, 30_000, 100_000, 250_000, 900_000, 1_011_000, 3_000_000]),
    st.integers(0, 3),
    st.sampled_from(
        [
            *["hurry", "ask", "call"] * 4,
            *["report", "late"] * 2,
            *("lost report", "lost ask", "crash"),
        ]
    ),
    st.integers(1, 40),
)
offsets = st.lists(st.integers(0, APART_US), min_size=1, max_size=4)


@settings(max_examples=10 * settings().max_examples)
@given(rates, offsets, st.lists(steps, min_size=5, max_size=60))
def test_no_span_holds_more_than_a_burst_and_a_call_for_each_interval(rate, offsets_us, turns):
    fleet = Fleet(rate, offsets_us)
    for turn in turns:
        fleet.meet(turn)

    assert fleet.excess() <= 0
    assert fleet.most_in_a_period() <= rate.calls + rate.at_once


@given(rates, st.lists(steps, min_size=5, max_size=40))
def test_a_fleet_that_was_left_alone_has_all_of_its_burst_again(rate, turns):
    fleet = Fleet(rate, [0])
    for turn in turns:
        fleet.meet(turn)

    rest_us = 3_000_000 + (rate.at_once + 1) * rate.interval_us
    fleet.meet(Step(rest_us, 0, "crash", 1))
    for _ in range(rate.at_once):
        fleet.meet(Step(0, 0, "ask", 1))
    caller = fleet.callers[0]
    assert fleet.call(caller, fleet.at, 1_000) == rate.at_once
