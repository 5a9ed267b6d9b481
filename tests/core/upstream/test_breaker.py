"""What follows from every event at every gate, and what is let through."""

import itertools
from typing import get_args

import pytest

from holdfast.core.upstream.breaker import (
    LONGEST_PAUSE_US,
    Admission,
    Admits,
    BreakerEvent,
    ForceAsked,
    Observed,
    PermitsAsked,
    RateLimited,
    ResetAsked,
    TrialEnded,
    admission,
    decide_breaker,
    evidence_of,
    failed_call,
    next_call_at,
    pause_us_of,
)
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import (
    MAX_CALL_MESSAGE_LENGTH,
    MAX_FAILED_CALLS,
    FailedCall,
    Gate,
    Permit,
    UpstreamState,
)
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import SECOND_US, Instant
from tests.core.upstream.breaker_table import (
    CLOSED,
    COOLING,
    EVENTS,
    HALF_OPEN,
    NOW,
    POLICY,
    STANDS,
    at,
    in_words,
    lines,
)


def after(upstream: UpstreamState, *events: BreakerEvent, now: Instant = NOW) -> UpstreamState:
    """The upstream once it has met the events, all at one instant."""
    for event in events:
        upstream = decide_breaker(upstream, event, POLICY, now) or upstream
    return upstream


@pytest.mark.parametrize("stands", STANDS)
def test_every_event_at_every_gate_leads_to_what_is_written(stands: str):
    written = {line.event: line.leads_to for line in lines() if line.stands == stands}
    found = {
        event: in_words(decide_breaker(STANDS[stands], EVENTS[event], POLICY, NOW))
        for event in written
    }

    assert found == written


def test_every_pair_is_written_once():
    assert sorted((line.stands, line.event) for line in lines()) == sorted(
        itertools.product(STANDS, EVENTS)
    )


def test_every_kind_of_event_and_every_gate_is_in_the_table():
    assert {type(event) for event in EVENTS.values()} == set(get_args(BreakerEvent))
    assert {upstream.gate for upstream in STANDS.values()} == set(Gate)


@pytest.mark.parametrize("stands", STANDS)
def test_the_name_and_the_revision_stay(stands: str):
    for name, event in EVENTS.items():
        found = decide_breaker(STANDS[stands], event, POLICY, NOW)

        assert found is None or (found.name, found.revision) == ("gateway", 9), name


@pytest.mark.parametrize(
    ("stands", "admitted"),
    [
        ("closed", Admission(Admits.ALL, 1.0)),
        ("cooling", Admission(Admits.NOTHING, 0.0, at(20))),
        ("cooled", Admission(Admits.TRIALS, 0.0)),
        ("half_open", Admission(Admits.TRIALS, 0.0)),
        ("held_open", Admission(Admits.NOTHING, 0.0)),
        ("held_closed", Admission(Admits.ALL, 1.0)),
        ("paused", Admission(Admits.NOTHING, 0.0, at(8), rate_limited=True)),
    ],
)
def test_what_is_let_through(stands: str, admitted: Admission):
    assert admission(STANDS[stands], POLICY, NOW) == admitted


def test_without_a_policy_calls_go_through_unless_somebody_says_otherwise():
    assert admission(COOLING, None, NOW) == Admission(Admits.ALL)
    assert admission(STANDS["held_open"], None, NOW).admits is Admits.NOTHING
    assert admission(STANDS["paused"], None, NOW).rate_limited is True


@pytest.mark.parametrize("name", ["failed", "asked", "tried", "spoilt", "returned"])
def test_without_a_policy_evidence_moves_nothing(name: str):
    for upstream in STANDS.values():
        assert decide_breaker(upstream, EVENTS[name], None, NOW) is None


def test_a_pause_is_over_at_its_end():
    assert admission(STANDS["paused"], POLICY, at(8)).admits is Admits.ALL


class TestTheCooldown:
    def test_trials_begin_at_its_very_end(self):
        assert admission(COOLING, POLICY, Instant(at(20) - 1)).admits is Admits.NOTHING
        assert admission(COOLING, POLICY, at(20)).admits is Admits.TRIALS

    def test_it_doubles_with_every_failed_trial_and_starts_again_after_a_close(self):
        upstream, now, lengths = STANDS["cooled"]._replace(reopenings=0), NOW, []
        for _ in range(7):
            upstream = after(upstream, PermitsAsked("w", 1), now=now)
            upstream = after(upstream, TrialEnded(upstream.generation, 1, fine=False), now=now)
            lengths.append((upstream.open_until - now) // SECOND_US)
            now = upstream.open_until
        upstream = after(upstream, PermitsAsked("w", 2), now=now)
        generation = upstream.generation
        upstream = after(
            upstream,
            TrialEnded(generation, 1, fine=True),
            TrialEnded(generation, 2, fine=True),
            Observed("w", generation + 1, ((0, 3),)),
            now=now,
        )

        assert lengths == [60, 120, 240, 480, 600, 600, 600]
        assert (upstream.gate, upstream.open_until - now) == (Gate.OPEN, 30 * SECOND_US)


class TestTrials:
    def test_only_as_many_are_given_as_may_be_under_way(self):
        one = after(STANDS["cooled"], PermitsAsked("w", 1))
        two = after(one, PermitsAsked("v", 9))

        assert two.permits == (Permit(1, "w", at(60)), Permit(2, "v", at(60)))
        assert decide_breaker(two, PermitsAsked("u", 1), POLICY, NOW) is None

    def test_only_as_many_are_given_as_could_still_be_needed(self):
        generous = Breaker(trials=5, successes=2)

        given = decide_breaker(STANDS["cooled"], PermitsAsked("w", 9), generous, NOW)

        assert len(given.permits) == 2

    def test_nobody_who_wants_none_opens_the_gate_half(self):
        assert decide_breaker(STANDS["cooled"], PermitsAsked("w", 0), POLICY, NOW) is None

    def test_one_that_was_returned_may_be_given_again_under_a_new_number(self):
        returned = after(HALF_OPEN, TrialEnded(6, 2, fine=None))

        again = after(returned, PermitsAsked("v", 1))

        assert [permit.number for permit in again.permits] == [3]

    def test_one_that_nobody_reported_runs_out_and_is_given_to_another(self):
        later = at(57)

        again = after(HALF_OPEN, PermitsAsked("v", 1), now=later)

        assert [(permit.number, permit.worker) for permit in again.permits] == [(3, "v")]
        assert decide_breaker(again, TrialEnded(6, 2, fine=False), POLICY, later) is None

    def test_all_that_are_needed_must_succeed(self):
        upstream = after(STANDS["cooled"], PermitsAsked("w", 2))
        first = after(upstream, TrialEnded(7, 1, fine=True))
        second = after(first, TrialEnded(7, 2, fine=True))

        assert (first.gate, first.successes) == (Gate.HALF_OPEN, 1)
        assert (second.gate, second.generation) == (Gate.CLOSED, 8)

    def test_one_report_counts_once(self):
        upstream = after(STANDS["cooled"], PermitsAsked("w", 2))

        twice = after(upstream, TrialEnded(7, 1, fine=True), TrialEnded(7, 1, fine=True))

        assert (twice.gate, twice.successes) == (Gate.HALF_OPEN, 1)

    def test_one_that_fails_calls_the_others_off(self):
        upstream = after(STANDS["cooled"], PermitsAsked("w", 2))
        reopened = after(upstream, TrialEnded(7, 2, fine=False))

        assert (reopened.gate, reopened.permits) == (Gate.OPEN, ())
        assert decide_breaker(reopened, TrialEnded(7, 1, fine=True), POLICY, NOW) is None


class TestARateLimit:
    def test_it_lasts_five_minutes_at_most(self):
        paused = after(CLOSED, RateLimited(at(86_400)))

        assert paused.paused_until == NOW + LONGEST_PAUSE_US == at(300)

    def test_a_shorter_one_or_one_in_the_past_changes_nothing(self):
        paused = STANDS["paused"]

        assert decide_breaker(paused, RateLimited(at(5)), POLICY, NOW) is None
        assert decide_breaker(paused, RateLimited(at(8)), POLICY, NOW) is None
        assert decide_breaker(CLOSED, RateLimited(NOW), POLICY, NOW) is None

    def test_no_policy_is_needed_for_it(self):
        assert decide_breaker(CLOSED, RateLimited(at(10)), None, NOW).paused_until == at(10)

    def test_nobody_may_try_meanwhile(self):
        paused = STANDS["cooled"]._replace(paused_until=at(1))

        assert decide_breaker(paused, PermitsAsked("w", 1), POLICY, NOW) is None


class TestTheRelease:
    RELEASED = CLOSED._replace(since=NOW, samples=())

    @pytest.mark.parametrize(
        ("elapsed_s", "share"),
        [(0, 0.1), (0.999, 0.1), (1, 0.2), (4.5, 0.5), (9.999, 1.0), (10, 1.0), (3_600, 1.0)],
    )
    def test_the_share_rises_in_ten_steps(self, elapsed_s: float, share: float):
        assert admission(self.RELEASED, POLICY, at(elapsed_s)).share == share

    def test_what_never_opened_needs_none(self):
        assert admission(UpstreamState("gateway", since=NOW), POLICY, NOW).share == 1.0

    def test_a_clock_that_went_back_starts_it_again(self):
        assert admission(self.RELEASED, POLICY, at(-60)).share == 0.1

    def test_it_may_be_switched_off(self):
        sudden = Breaker(release=0)

        assert admission(self.RELEASED, sudden, NOW).share == 1.0
        assert admission(self.RELEASED, sudden, at(-60)).share == 1.0

    def test_an_upstream_that_was_closed_is_not_released_again_by_a_reset(self):
        assert admission(after(CLOSED, ResetAsked()), POLICY, NOW).share == 1.0
        assert admission(after(COOLING, ResetAsked()), POLICY, NOW).share == 0.1


class TestOperators:
    def test_what_they_said_is_kept(self):
        held = after(COOLING, ForceAsked(Gate.CLOSED, "ada", "the probe lies"))

        assert (held.forced, held.forced_by) == (Gate.CLOSED, "ada")
        assert held.forced_reason == "the probe lies"

    def test_calls_begun_before_they_came_are_no_evidence_afterwards(self):
        freed = after(CLOSED, ForceAsked(Gate.CLOSED, "ada"), ForceAsked(None, "ada"))

        assert decide_breaker(freed, Observed("w", 6, ((0, 9),)), POLICY, NOW) is None
        assert decide_breaker(freed, Observed("w", 7, ((0, 9),)), POLICY, NOW) is None
        assert decide_breaker(freed, Observed("w", 8, ((0, 9),)), POLICY, NOW).gate is Gate.OPEN

    def test_a_reset_forgets_all_there_was_but_for_how_long_it_was_open(self):
        everything = HALF_OPEN._replace(
            forced=Gate.OPEN, forced_by="ada", forced_reason="x", paused_until=at(100)
        )

        assert after(everything, ResetAsked()) == UpstreamState(
            "gateway",
            revision=9,
            generation=7,
            since=NOW,
            open_us=everything.open_time_us(NOW),
        )


@pytest.mark.parametrize(
    ("facts", "evidence"),
    [
        ({"blames_upstream": True}, False),
        ({"blames_upstream": True, "http_status": 503}, False),
        ({"http_status": 404}, True),
        ({"http_status": 429}, True),
        ({}, None),
    ],
)
def test_a_failure_speaks_for_the_upstream_against_it_or_not_at_all(facts, evidence):
    failure = Failure(
        error_class="X", message="", category=Category.TRANSIENT, retryable=True, **facts
    )

    assert evidence_of(failure) is evidence


@pytest.mark.parametrize(
    ("status", "asked_us", "pause_us"),
    [(429, 7_000_000, 7_000_000), (429, None, None), (503, 7_000_000, None)],
)
def test_only_a_rate_limit_with_its_time_keeps_everybody_away(status, asked_us, pause_us):
    failure = Failure(
        error_class="X",
        message="",
        category=Category.TRANSIENT,
        retryable=True,
        http_status=status,
        retry_after_us=asked_us,
    )

    assert pause_us_of(failure) == pause_us


def failing(*numbers: int) -> tuple[FailedCall, ...]:
    return tuple(FailedCall(at(n), "NETWORK", f"call {n}", f"job {n}") for n in numbers)


def test_a_breaker_that_opens_keeps_why_and_the_calls_that_opened_it():
    seen = after(UpstreamState("gateway"), Observed("w", 0, ((0, 2),), failures=failing(1, 2)))
    opened = after(seen, Observed("w", 0, ((0, 1),), failures=failing(3)))

    assert seen.reason is None
    assert (opened.gate, opened.reason) == (Gate.OPEN, "3 calls in a row failed")
    assert opened.failures == failing(1, 2, 3)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Breaker(failure_rate=0.5, over_calls=4), "2 of the last 4 calls failed"),
        (
            Breaker(failure_rate=0.5, over_seconds=60, minimum_calls=4),
            "2 of 4 calls within 60 s failed",
        ),
    ],
    ids=["over calls", "over seconds"],
)
def test_the_reason_says_which_rule_was_broken(policy: Breaker, reason: str):
    observed = Observed("w", 0, ((2, 2),))

    opened = decide_breaker(UpstreamState("gateway"), observed, policy, NOW)

    assert opened is not None
    assert opened.reason == reason


def test_a_failed_trial_adds_to_the_reason_and_a_closed_breaker_has_none():
    half_open = HALF_OPEN._replace(reason="3 calls in a row failed", failures=failing(1, 2, 3))

    again = after(half_open, TrialEnded(6, 2, fine=False, failure=failing(4)[0]))
    closed = after(half_open, TrialEnded(6, 2, fine=True))

    assert (again.reason, again.failures) == ("a trial call failed", failing(1, 2, 3, 4))
    assert (closed.reason, closed.failures) == (None, ())


def test_only_the_latest_failures_are_kept_and_their_messages_are_bounded():
    opened = after(
        UpstreamState("gateway"), Observed("w", 0, ((0, 9),), failures=failing(*range(9)))
    )
    failure = Failure(
        error_class="NETWORK", message="x" * 2_000, category=Category.TRANSIENT, retryable=True
    )

    assert opened.failures == failing(4, 5, 6, 7, 8)
    assert len(opened.failures) == MAX_FAILED_CALLS
    kept = failed_call(failure, at=NOW, job_id="j")
    assert len(kept.message) == MAX_CALL_MESSAGE_LENGTH


def test_failures_are_forgotten_with_the_evidence():
    seen = after(UpstreamState("gateway"), Observed("w", 0, ((0, 2),), failures=failing(1, 2)))

    assert after(seen, Observed("w", 0, ((3, 0),))).failures == ()


@pytest.mark.parametrize(
    ("stands", "seconds"),
    [
        ({"open_until": at(20)}, 20),
        ({"open_until": at(20), "paused_until": at(8)}, 20),
        ({"open_until": at(20), "paused_until": at(90)}, 90),
        ({"open_until": at(-1)}, None),
        ({"gate": Gate.CLOSED, "open_until": None, "paused_until": at(8)}, 8),
        ({"open_until": at(20), "forced": Gate.CLOSED}, None),
        ({"open_until": at(20), "paused_until": at(8), "forced": Gate.CLOSED}, 8),
        ({"open_until": at(20), "paused_until": at(8), "forced": Gate.OPEN}, None),
    ],
)
def test_the_next_call_comes_after_the_cooldown_and_after_the_pause(stands, seconds):
    upstream = COOLING._replace(**stands)

    found = next_call_at(upstream, POLICY, NOW)

    assert found == (None if seconds is None else at(seconds))
    assert admission(upstream, POLICY, NOW).until == found
