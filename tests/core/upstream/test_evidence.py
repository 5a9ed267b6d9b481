"""What is remembered of calls, and when it is enough to open a breaker."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.upstream.breaker import Observed, decide_breaker
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.evidence import (
    BUCKETS,
    HEARING_US,
    MAX_SAMPLES,
    MEMORY_US,
    is_enough,
    kept,
)
from holdfast.core.upstream.upstream import Gate, Sample, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant

NOW = Instant(1_800_000_000 * SECOND_US)
FRESH = UpstreamState("gateway")
OF_20 = Breaker(failure_rate=0.5, over_calls=20)


def at(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND_US))


def told(
    policy: Breaker, *runs: tuple[int, int], worker: str = "w", fleet: int = 1, start=FRESH
) -> UpstreamState:
    """The upstream once a worker has told of these runs, one report each, all at one instant."""
    upstream = start
    for run in runs:
        event = Observed(worker, upstream.generation, (run,), fleet)
        upstream = decide_breaker(upstream, event, policy, NOW) or upstream
        if upstream.gate is Gate.OPEN:
            break
    return upstream


def totals(upstream: UpstreamState) -> tuple[int, int]:
    return (
        sum(sample.fine for sample in upstream.samples),
        sum(sample.failed for sample in upstream.samples),
    )


class TestFailuresInARow:
    THREE = Breaker(consecutive=3)

    def test_it_takes_all_of_them(self):
        assert told(self.THREE, (0, 1), (0, 1)).gate is Gate.CLOSED
        assert told(self.THREE, (0, 1), (0, 1), (0, 1)).gate is Gate.OPEN
        assert told(self.THREE, (0, 3)).gate is Gate.OPEN

    def test_a_fine_call_begins_the_count_again(self):
        assert told(self.THREE, (0, 2), (1, 2)).gate is Gate.CLOSED
        assert told(self.THREE, (0, 2), (1, 0), (0, 2)).gate is Gate.CLOSED
        assert told(self.THREE, (0, 2), (1, 0), (0, 2), (0, 1)).gate is Gate.OPEN

    def test_a_worker_with_many_failures_does_not_drown_the_others(self):
        first = told(self.THREE, (0, 9), worker="a", fleet=2)
        assert first.gate is Gate.CLOSED

        assert told(self.THREE, (0, 9), worker="b", fleet=2, start=first).gate is Gate.OPEN

    def test_nor_does_it_drown_one_that_gets_through(self):
        first = told(self.THREE, (0, 1), worker="a", fleet=2)
        fine = told(self.THREE, (1, 0), worker="b", fleet=2, start=first)
        drowned = told(self.THREE, (0, 9), worker="a", fleet=2, start=fine)

        heard = kept(drowned.samples, self.THREE, Instant(NOW + HEARING_US))
        assert {sample.worker for sample in heard} == {"a", "b"}
        assert not is_enough(heard, self.THREE, fleet=2, now=Instant(NOW + HEARING_US))

    def test_the_calls_of_several_workers_are_one_row(self):
        first = told(self.THREE, (0, 2), worker="a", fleet=2)

        assert told(self.THREE, (0, 1), worker="b", fleet=2, start=first).gate is Gate.OPEN

    def test_fine_calls_alone_are_not_remembered(self):
        assert told(self.THREE, (50, 0), (50, 0)) == FRESH
        assert told(self.THREE, (0, 1), (3, 0)).samples == ()


class TestARateOverCalls:
    def test_it_opens_when_the_rate_is_reached(self):
        assert told(OF_20, (11, 9)).gate is Gate.CLOSED
        assert told(OF_20, (10, 10)).gate is Gate.OPEN

    def test_or_only_when_it_is_passed(self):
        strict = Breaker(failure_rate=0.5, over_calls=20, strictly_above=True)

        assert told(strict, (10, 10)).gate is Gate.CLOSED
        assert told(strict, (9, 11)).gate is Gate.OPEN

    def test_it_means_nothing_before_there_are_enough_calls(self):
        early = Breaker(failure_rate=0.5, over_calls=20, minimum_calls=4)

        assert told(OF_20, (0, 19)).gate is Gate.CLOSED
        assert told(OF_20, (0, 19), (1, 0)).gate is Gate.OPEN
        assert told(early, (0, 3)).gate is Gate.CLOSED
        assert told(early, (0, 3), (1, 0)).gate is Gate.OPEN

    def test_long_health_delays_it_by_no_more_than_the_window(self):
        assert told(OF_20, (5_000, 9)).gate is Gate.CLOSED
        assert told(OF_20, (5_000, 9), (0, 1)).gate is Gate.OPEN

    @pytest.mark.parametrize(("fine", "failed"), [(4, 1), (3, 2), (11, 9), (19, 1)])
    def test_a_lower_rate_never_opens_it_however_long_it_lasts(self, fine: int, failed: int):
        upstream = told(OF_20, *[(fine, failed)] * 200)

        assert upstream.gate is Gate.CLOSED
        assert sum(totals(upstream)) == 20

    def test_seven_of_25_are_28_percent(self):
        odd = Breaker(failure_rate=0.28, over_calls=25)

        assert told(odd, (19, 6)).gate is Gate.CLOSED
        assert told(odd, (18, 7)).gate is Gate.OPEN

    def test_beside_a_longer_row_it_still_looks_at_its_own_calls(self):
        both = Breaker(consecutive=50, failure_rate=0.5, over_calls=10)

        assert told(both, (30, 0), (0, 1), (9, 4), (0, 1)).gate is Gate.OPEN
        assert told(both, (0, 4), (30, 4)).gate is Gate.CLOSED

    def test_old_failures_are_forgotten(self):
        upstream = told(OF_20, (0, 19))
        much_later = Instant(NOW + MEMORY_US + 1)

        event = Observed("w", 0, ((0, 1),))
        found = decide_breaker(upstream, event, OF_20, much_later)

        assert totals(found) == (0, 1)


class TestARateOverTime:
    TWO_MINUTES = Breaker(failure_rate=0.5, over_seconds=120)

    def test_it_opens_when_the_rate_is_reached(self):
        assert told(self.TWO_MINUTES, (6, 4)).gate is Gate.CLOSED
        assert told(self.TWO_MINUTES, (5, 5)).gate is Gate.OPEN
        assert told(self.TWO_MINUTES, (4, 5)).gate is Gate.CLOSED

    def test_calls_leave_it_when_their_time_is_up(self):
        upstream = told(self.TWO_MINUTES, (6, 4))
        event = Observed("w", 0, ((0, 10),))

        assert decide_breaker(upstream, event, self.TWO_MINUTES, at(119)).gate is Gate.OPEN
        diluted = told(self.TWO_MINUTES, (600, 4))
        assert decide_breaker(diluted, event, self.TWO_MINUTES, at(120)).gate is Gate.CLOSED
        assert decide_breaker(diluted, event, self.TWO_MINUTES, at(121)).gate is Gate.OPEN

    def test_fine_calls_before_the_first_failure_count_by_their_own_time(self):
        earlier = ((at(-200), 1_000), (at(-100), 4), (at(-1), 3))
        event = Observed("w", 0, ((0, 6),), earlier=earlier)

        found = decide_breaker(FRESH, event, self.TWO_MINUTES, NOW)

        assert (found.gate, totals(found)) == (Gate.CLOSED, (7, 6))
        worse = decide_breaker(found, Observed("w", 0, ((0, 1),)), self.TWO_MINUTES, NOW)
        assert worse.gate is Gate.OPEN

    def test_it_goes_together_with_failures_in_a_row(self):
        both = Breaker(consecutive=3, failure_rate=0.9, over_seconds=120, minimum_calls=1_000)

        assert told(both, (0, 2), (1, 2)).gate is Gate.CLOSED
        assert told(both, (0, 2), (1, 2), (0, 1)).gate is Gate.OPEN
        assert totals(told(both, (0, 2), (40, 2), (1, 1))) == (41, 5)


class TestEvidenceOfOneWorker:
    """One worker's failures may be its own: its network, its credentials, its bad deploy."""

    THREE = Breaker(consecutive=3)

    def test_a_second_worker_that_fails_too_is_enough(self):
        first = told(self.THREE, (0, 3), worker="a", fleet=5)

        assert first.gate is Gate.CLOSED
        assert told(self.THREE, (0, 1), worker="b", fleet=5, start=first).gate is Gate.OPEN

    def test_a_worker_alone_is_believed_at_once(self):
        assert told(self.THREE, (0, 3), fleet=1).gate is Gate.OPEN
        assert told(self.THREE, (0, 3), fleet=0).gate is Gate.OPEN

    def test_when_nobody_else_speaks_it_is_believed_after_the_hearing(self):
        first = told(self.THREE, (0, 3), worker="a", fleet=5)
        again = Observed("a", 0, (), fleet=5)

        assert decide_breaker(first, again, self.THREE, Instant(NOW + HEARING_US - 1)) is None
        heard = decide_breaker(first, again, self.THREE, Instant(NOW + HEARING_US))
        assert heard.gate is Gate.OPEN

    def test_the_hearing_is_not_drawn_out_by_further_failures(self):
        upstream, opened_at = FRESH, None
        for tenth in range(100):
            event = Observed("a", 0, ((0, 1),), fleet=5)
            upstream = decide_breaker(upstream, event, self.THREE, at(tenth / 10)) or upstream
            if upstream.gate is Gate.OPEN:
                opened_at = tenth / 10
                break

        assert opened_at == pytest.approx(1.0)

    def test_while_others_have_no_trouble_it_is_not_believed(self):
        tenth = Breaker(failure_rate=0.1, over_calls=20, minimum_workers=2)
        first = told(tenth, (0, 15), worker="a", fleet=5)
        both = told(tenth, (5, 0), worker="b", fleet=5, start=first)
        again = Observed("a", 0, (), fleet=5)

        assert both.gate is Gate.CLOSED
        assert decide_breaker(both, again, tenth, at(30)) is None

    def test_how_many_must_agree_may_be_chosen(self):
        trusting = Breaker(consecutive=3, minimum_workers=1)

        assert told(trusting, (0, 3), worker="a", fleet=5).gate is Gate.OPEN


runs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4).map(tuple)
reports = st.lists(st.tuples(st.sampled_from("abc"), runs, st.integers(0, 40)), max_size=60)
policies = st.one_of(
    st.builds(Breaker, consecutive=st.integers(1, 30)),
    st.builds(
        Breaker,
        consecutive=st.none() | st.integers(1, 30),
        failure_rate=st.sampled_from([0.1, 0.3, 0.5, 1.0]),
        over_calls=st.integers(1, 30),
    ),
    st.builds(
        Breaker,
        consecutive=st.none() | st.integers(1, 30),
        failure_rate=st.sampled_from([0.1, 0.3, 0.5, 1.0]),
        over_seconds=st.sampled_from([1, 60, 300]),
    ),
)


@given(st.integers(1, 30), st.sampled_from([0.1, 0.3, 0.5, 1.0]), reports)
def test_a_window_of_calls_is_exactly_the_last_calls(over_calls, failure_rate, given_reports):
    policy = Breaker(failure_rate=failure_rate, over_calls=over_calls, minimum_workers=1)
    upstream, calls = FRESH, []
    for worker, its_runs, _ in given_reports:
        for fine, failed in its_runs:
            calls += [True] * fine + [False] * failed
        calls = calls[-over_calls:]
        if all(calls):
            calls = []
        upstream = decide_breaker(upstream, Observed(worker, 0, its_runs), policy, NOW) or upstream

        failures = calls.count(False)
        if len(calls) == over_calls and failures / over_calls >= failure_rate:
            assert upstream.gate is Gate.OPEN
            return
        assert upstream.gate is Gate.CLOSED
        assert totals(upstream) == (len(calls) - failures, failures)


@given(st.integers(1, 30), reports)
def test_failures_in_a_row_are_counted_over_all_workers(consecutive, given_reports):
    policy = Breaker(consecutive=consecutive, minimum_workers=1)
    upstream, row = FRESH, 0
    for worker, its_runs, _ in given_reports:
        for fine, failed in its_runs:
            row = failed if fine else row + failed
        upstream = decide_breaker(upstream, Observed(worker, 0, its_runs), policy, NOW) or upstream

        assert (upstream.gate is Gate.OPEN) == (row >= consecutive)
        if row >= consecutive:
            return


@given(st.sampled_from([1, 60, 300]), reports)
def test_a_window_of_time_is_the_calls_of_that_time_to_within_a_bucket(over_seconds, given_reports):
    policy = Breaker(failure_rate=1.0, over_seconds=over_seconds, minimum_calls=1_000)
    bucket_us = over_seconds * SECOND_US // BUCKETS
    upstream, now, calls = FRESH, NOW, []
    for worker, its_runs, step_s in given_reports:
        now = Instant(now + step_s * SECOND_US)
        calls += [(now, fine + failed) for fine, failed in its_runs]
        upstream = decide_breaker(upstream, Observed(worker, 0, its_runs), policy, now) or upstream
        if not upstream.samples:
            calls = []
            continue

        span_us = over_seconds * SECOND_US
        surely = sum(count for when, count in calls if now - when <= span_us - bucket_us)
        at_most = sum(count for when, count in calls if now - when <= span_us)
        assert surely <= sum(totals(upstream)) <= at_most


@given(policies, reports)
def test_what_is_remembered_is_bounded_and_settled(policy, given_reports):
    samples, now = (), NOW
    for worker, its_runs, step_s in given_reports:
        now = Instant(now + step_s * SECOND_US)
        new = (Sample(now, worker, fine, failed) for fine, failed in its_runs)
        samples = kept((*samples, *new), policy, now)

        in_order = max(policy.consecutive or 0, policy.over_calls or 0)
        folded = 0 if policy.over_seconds is None else (BUCKETS + 1) * 3
        last_words = len({worker for worker, _, _ in given_reports})
        assert len(samples) <= in_order + folded + last_words
        assert samples == () or any(sample.failed for sample in samples)
        assert all(sample.fine or sample.failed for sample in samples)
        assert kept(samples, policy, now) == samples


def test_whatever_a_great_fleet_sees_fits_into_a_row():
    policy = Breaker(failure_rate=1.0, over_seconds=86_400, consecutive=1_000)
    workers = itertools.cycle([f"worker-{number}" for number in range(700)])
    samples = ()
    for second in range(0, 86_400, 900):
        new = (Sample(at(second), next(workers), 1, 1) for _ in range(300))
        samples = kept((*samples, *new), policy, at(second))

    assert len(samples) == MAX_SAMPLES
    assert max(sample.at for sample in samples) == samples[-1].at == at(second)


def test_no_samples_are_not_enough():
    assert is_enough((), Breaker(), fleet=1, now=NOW) is False
