import json

import pytest

from holdfast.core.upstream.rate import (
    AGAIN_US,
    APART_US,
    SHORT_US,
    VALID_US,
    Bucket,
    CallsReported,
    Slice,
    SliceAsked,
    Used,
    decide_rate,
    room,
    room_at,
)
from holdfast.core.upstream.rate_policy import MAX_CALLS, Rate
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.errors import InvalidPolicy
from tests.core.upstream.rate_fleet import START, Fleet

THREE = Rate(3, per=1, burst=3)
INTERVAL = THREE.interval_us


def after(seconds: float) -> Instant:
    return Instant(START + round(seconds * SECOND_US))


def asked(bucket: Bucket, *, at: Instant = START, rate: Rate = THREE, fleet: int = 1) -> Bucket:
    found = decide_rate(bucket, SliceAsked("w", fleet), rate, at)
    assert found is not None
    return found


def reported(bucket: Bucket, *used: Used, at: Instant, rate: Rate = THREE) -> Bucket:
    found = decide_rate(bucket, CallsReported(used), rate, at)
    assert found is not None
    return found


class TestPolicy:
    def test_a_rate_is_so_many_calls_in_so_many_seconds_and_a_burst(self):
        assert (THREE.calls, THREE.per, THREE.at_once) == (3, 1, 3)
        assert str(THREE) == "3 calls in 1 s, 3 at once"
        assert str(Rate(1, per=60)) == "1 call in 60 s, 1 at once"

    @pytest.mark.parametrize(
        ("rate", "burst"),
        [
            (Rate(3), 1),
            (Rate(10), 2),
            (Rate(1_000), 250),
            (Rate(500, per=60), 2),
            (Rate(5, per=60), 1),
        ],
    )
    def test_without_a_burst_it_is_what_a_quarter_of_a_second_allows(self, rate: Rate, burst: int):
        assert rate.burst == burst

    def test_an_interval_is_rounded_up_so_that_no_limit_is_passed(self):
        assert Rate(3).interval_us == 333_334
        assert Rate(7, per=0.001).interval_us == 143

    @pytest.mark.parametrize(
        ("field", "wrong"),
        [
            ("calls", 0),
            ("calls", 1.5),
            ("calls", True),
            ("calls", MAX_CALLS + 1),
            ("calls", 10_001),
            ("per", 0),
            ("per", -1),
            ("per", float("nan")),
            ("per", 86_401),
            ("per", "1"),
            ("burst", 0),
            ("burst", 2.5),
        ],
    )
    def test_a_rate_that_makes_no_sense_is_refused_by_name(self, field: str, wrong: object):
        with pytest.raises(InvalidPolicy) as caught:
            Rate(**{"calls": 3, field: wrong})

        assert caught.value.field == field


class TestSlices:
    def test_a_slice_is_a_quarter_of_a_second_divided_by_the_workers(self):
        fast = Rate(1_000, per=1, burst=1_000)

        assert asked(Bucket("g"), rate=fast).slices[0].calls == 250
        assert asked(Bucket("g"), rate=fast, fleet=5).slices[0].calls == 50
        assert asked(Bucket("g"), rate=fast, fleet=5_000).slices[0].calls == 1

    def test_a_slice_is_half_of_a_burst_at_most(self):
        assert asked(Bucket("g"), rate=Rate(1_000, burst=100)).slices[0].calls == 50
        assert asked(Bucket("g"), rate=Rate(1_000, burst=100), fleet=5).slices[0].calls == 10
        assert asked(Bucket("g"), rate=Rate(1_000, burst=1)).slices[0].calls == 1

    def test_no_more_are_out_than_a_burst(self):
        bucket = Bucket("g")
        for number in range(1, 4):
            bucket = asked(bucket)
            assert bucket.slices[-1] == Slice(number, "w", 1, later(START, VALID_US))
        assert room(bucket, THREE, START) == 0

        short = asked(bucket)
        assert (short.granted, short.short_at) == (3, START)

    def test_that_there_was_no_room_is_noted_about_once_a_second(self):
        bucket = Bucket("g")
        for _ in range(3):
            bucket = asked(bucket)
        short = asked(bucket)

        soon = later(START, SHORT_US - 1)
        assert decide_rate(short, SliceAsked("w"), THREE, soon) is None
        assert asked(short, at=later(START, SHORT_US)).short_at == later(START, SHORT_US)

    def test_a_call_makes_room_for_another_an_interval_after_it_began(self):
        one = Rate(3, burst=1)
        bucket = reported(
            asked(Bucket("g"), rate=one), Used(1, 1, START, closed=True), at=START, rate=one
        )
        free_at = later(START, one.interval_us + APART_US)

        assert room_at(bucket, one, START) == free_at
        assert room(bucket, one, Instant(free_at - 1)) == 0
        assert room(bucket, one, free_at) == 1

    def test_what_is_not_needed_goes_back(self):
        fast = Rate(1_000, burst=100)
        bucket = asked(Bucket("g"), rate=fast)
        back = reported(bucket, Used(1, 0, Instant(0), closed=True), at=START, rate=fast)

        assert back.slices == ()
        assert room(back, fast, START) == 100

    def test_what_was_begun_counts_from_when_it_began_and_the_rest_stays_out(self):
        fast = Rate(1_000, burst=100)
        bucket = asked(Bucket("g"), rate=fast)
        part = reported(bucket, Used(1, 20, START), at=after(0.02), rate=fast)

        assert part.slices[0].left == 30
        assert part.begun == 20
        # The margin between clocks is ten intervals of this rate.
        assert room(part, fast, after(0.02)) == 100 - 30 - 10

    def test_a_report_that_comes_twice_counts_once(self):
        fast = Rate(1_000, burst=100)
        bucket = asked(Bucket("g"), rate=fast)
        once = reported(bucket, Used(1, 20, START), at=START, rate=fast)

        assert decide_rate(once, CallsReported((Used(1, 20, START),)), fast, START) is None
        more = reported(once, Used(1, 25, START), at=START, rate=fast)
        assert more.begun == 25

    def test_a_slice_that_nobody_reports_counts_as_used_at_its_end(self):
        bucket = asked(Bucket("g"))
        lapsed_at = later(START, VALID_US + APART_US)

        assert room(bucket, THREE, lapsed_at) == 2
        assert room(bucket, THREE, later(lapsed_at, INTERVAL)) == 3
        assert asked(bucket, at=lapsed_at).lapsed == 1

    def test_a_report_of_a_slice_that_has_lapsed_changes_nothing(self):
        bucket = asked(Bucket("g"))
        late = later(START, VALID_US + APART_US)

        assert (
            decide_rate(bucket, CallsReported((Used(1, 0, START, closed=True),)), THREE, late)
            is None
        )

    def test_while_the_slices_of_others_are_out_it_is_worth_asking_again_soon(self):
        bucket = Bucket("g")
        for _ in range(3):
            bucket = asked(bucket)

        assert room_at(bucket, THREE, START) == later(START, AGAIN_US)
        assert room_at(Bucket("g"), THREE, START) == START


class TestClocks:
    def test_a_clock_that_was_set_back_holds_calls_up_for_a_burst_at_most(self):
        bucket = Bucket("g", full_at=after(3_600), slices=(Slice(1, "w", 1, after(3_600)),))
        ready = later(START, VALID_US + 2 * APART_US + 4 * INTERVAL)

        assert room(bucket, THREE, START) == 0
        settled = asked(bucket)
        assert room(settled, THREE, ready) > 0

    def test_a_clock_that_was_set_ahead_allows_a_burst_at_most(self):
        bucket = Bucket("g", full_at=START)

        assert room(bucket, THREE, after(3_600)) == 3


class TestChangedRates:
    def test_a_rate_that_was_lowered_counts_at_once(self):
        bucket = asked(Bucket("g"), rate=Rate(1_000, burst=100))

        assert room(bucket, THREE, START) == 0
        assert asked(bucket).rate == THREE

    def test_a_rate_that_was_raised_owes_no_more_than_its_own_burst(self):
        minute = Rate(1, per=60, burst=1)
        bucket = reported(
            asked(Bucket("g"), rate=minute), Used(1, 1, START, closed=True), at=START, rate=minute
        )

        assert room_at(bucket, THREE, START) <= later(START, 3 * INTERVAL + 2 * APART_US)


def test_a_bucket_is_read_as_it_was_stored_and_what_a_newer_version_added_is_left_aside():
    bucket = reported(asked(asked(Bucket("g"))), Used(1, 1, START, closed=True), at=START)
    stored = json.loads(json.dumps(bucket.to_document()))

    assert Bucket.from_document("g", 7, stored) == bucket._replace(revision=7)
    stored["slices"][0].append("new")
    assert Bucket.from_document("g", 7, {**stored, "odd": 1}) == bucket._replace(revision=7)
    assert Bucket.from_document("g", 0, {}) == Bucket("g")
    assert Bucket("g").rate is None


@pytest.mark.parametrize(
    ("rate", "workers", "least"),
    [
        (Rate(3, per=1, burst=3), 8, 0.97),
        (Rate(3, per=1, burst=1), 8, 0.92),
        (Rate(100, per=1, burst=25), 8, 0.97),
        (Rate(1_000, per=1, burst=250), 8, 0.95),
        (Rate(1_000, per=1), 1, 0.95),
        (Rate(5, per=60, burst=1), 3, 0.98),
    ],
)
def test_a_fleet_with_enough_to_do_gets_nearly_all_of_its_rate(rate, workers, least):
    fleet = Fleet(rate, [0] * workers)
    periods = 100 if rate.per > 1 else 10
    turn_us = 5_000 if rate.per == 1 else 50_000

    end = later(START, round(periods * rate.per / 5) * SECOND_US)
    while fleet.at < end:
        fleet.at = Instant(fleet.at + turn_us)
        for caller in fleet.callers:
            if not caller.room.free(fleet.at):
                fleet.ask(caller, fleet.at)
            fleet.call(caller, fleet.at, 1_000)

    span_s = (fleet.at - START) / SECOND_US
    assert len(fleet.begun) >= least * rate.calls * span_s / rate.per
    assert fleet.excess() <= 0
