"""What follows from every event at every gate, written out.

A line reads: an upstream that stands so, met by that event, leads to this. `-` means empty,
`nothing` means that nothing changes. The policy opens after 3 failures in a row, cools down for
30 s, lets 2 trials be under way and wants 2 successes. The upstream is in its sixth generation;
while half open, one trial of two has succeeded and permit 2 is out, of a worker called `w`.
"""

import itertools
from typing import NamedTuple, get_args

import pytest

from holdfast.core.breaker import (
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
)
from holdfast.core.breaker_policy import Breaker
from holdfast.core.failure import Category, Failure
from holdfast.core.instant import SECOND_US, Instant
from holdfast.core.upstream import Gate, Permit, Sample, UpstreamState

NOW = Instant(1_800_000_000 * SECOND_US)
POLICY = Breaker(consecutive=3, cooldown=30, growth=2, trials=2, successes=2, trial_timeout=60)


def at(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND_US))


CLOSED = UpstreamState(
    "gateway",
    revision=9,
    generation=6,
    since=at(-3_600),
    samples=(Sample(at(-5), "w", 0, 2),),
)
COOLING = UpstreamState(
    "gateway",
    revision=9,
    gate=Gate.OPEN,
    generation=6,
    since=at(-10),
    open_until=at(20),
    reopenings=1,
)
HALF_OPEN = UpstreamState(
    "gateway",
    revision=9,
    gate=Gate.HALF_OPEN,
    generation=6,
    since=at(-3),
    reopenings=1,
    successes=1,
    granted=2,
    permits=(Permit(2, "w", at(57)),),
)
STANDS = {
    "closed": CLOSED,
    "cooling": COOLING,
    "cooled": COOLING._replace(open_until=NOW),
    "half_open": HALF_OPEN,
    "held_open": CLOSED._replace(forced=Gate.OPEN, forced_by="ada", samples=()),
    "held_closed": COOLING._replace(forced=Gate.CLOSED, forced_by="ada", forced_reason="test"),
    "paused": CLOSED._replace(paused_until=at(8)),
}
EVENTS = {
    "fine": Observed("w", 6, ((1, 0),)),
    "failed": Observed("w", 6, ((0, 1),)),
    "looked": Observed("w", 6),
    "stale": Observed("w", 5, ((0, 9),)),
    "asked": PermitsAsked("v", 5),
    "tried": TrialEnded(6, 2, fine=True),
    "spoilt": TrialEnded(6, 2, fine=False),
    "returned": TrialEnded(6, 2, fine=None),
    "late": TrialEnded(5, 2, fine=True),
    "unknown": TrialEnded(6, 1, fine=False),
    "limited": RateLimited(at(10)),
    "hold_open": ForceAsked(Gate.OPEN, "bob", "drill"),
    "hold_close": ForceAsked(Gate.CLOSED, "bob"),
    "let_go": ForceAsked(None, "bob"),
    "reset": ResetAsked(),
}

PLAIN = """
stands      event      | gate      gen since until again won given out   seen      paused held

closed      fine       | closed    6   -3600 -     0     0   0     -     w0+2,w1+0 -      -
closed      failed     | open      7   0     30    0     0   0     -     -         -      -
closed      looked     | nothing
closed      stale      | nothing
closed      asked      | nothing
closed      tried      | nothing
closed      spoilt     | nothing
closed      returned   | nothing
closed      late       | nothing
closed      unknown    | nothing
closed      limited    | closed    6   -3600 -     0     0   0     -     w0+2      10     -
closed      hold_open  | closed    7   0     -     0     0   0     -     -         -      open/bob
closed      hold_close | closed    7   0     -     0     0   0     -     -         -      closed/bob
closed      let_go     | nothing
closed      reset      | closed    7   -3600 -     0     0   0     -     -         -      -

cooling     fine       | nothing
cooling     failed     | nothing
cooling     looked     | nothing
cooling     stale      | nothing
cooling     asked      | nothing
cooling     tried      | nothing
cooling     spoilt     | nothing
cooling     returned   | nothing
cooling     late       | nothing
cooling     unknown    | nothing
cooling     limited    | open      6   -10   20    1     0   0     -     -         10     -
cooling     hold_open  | open      7   0     20    1     0   0     -     -         -      open/bob
cooling     hold_close | open      7   0     20    1     0   0     -     -         -      closed/bob
cooling     let_go     | nothing
cooling     reset      | closed    7   0     -     0     0   0     -     -         -      -

cooled      fine       | nothing
cooled      failed     | nothing
cooled      looked     | nothing
cooled      stale      | nothing
cooled      asked      | half_open 7   0     -     1     0   2     1v,2v -         -      -
cooled      tried      | nothing
cooled      spoilt     | nothing
cooled      returned   | nothing
cooled      late       | nothing
cooled      unknown    | nothing
cooled      limited    | open      6   -10   0     1     0   0     -     -         10     -
cooled      hold_open  | open      7   0     0     1     0   0     -     -         -      open/bob
cooled      hold_close | open      7   0     0     1     0   0     -     -         -      closed/bob
cooled      let_go     | nothing
cooled      reset      | closed    7   0     -     0     0   0     -     -         -      -

half_open   fine       | nothing
half_open   failed     | nothing
half_open   looked     | nothing
half_open   stale      | nothing
half_open   asked      | nothing
half_open   tried      | closed    7   0     -     0     0   0     -     -         -      -
half_open   spoilt     | open      7   0     120   2     0   0     -     -         -      -
half_open   returned   | half_open 6   -3    -     1     1   2     -     -         -      -
half_open   late       | nothing
half_open   unknown    | nothing
half_open   limited    | half_open 6   -3    -     1     1   2     2w    -         10     -
half_open   hold_open  | half_open 7   0     -     1     0   0     -     -         -      open/bob
half_open   hold_close | half_open 7   0     -     1     0   0     -     -         -      closed/bob
half_open   let_go     | nothing
half_open   reset      | closed    7   0     -     0     0   0     -     -         -      -

held_open   fine       | nothing
held_open   failed     | nothing
held_open   looked     | nothing
held_open   stale      | nothing
held_open   asked      | nothing
held_open   tried      | nothing
held_open   spoilt     | nothing
held_open   returned   | nothing
held_open   late       | nothing
held_open   unknown    | nothing
held_open   limited    | closed    6   -3600 -     0     0   0     -     -         10     open/ada
held_open   hold_open  | closed    7   0     -     0     0   0     -     -         -      open/bob
held_open   hold_close | closed    7   0     -     0     0   0     -     -         -      closed/bob
held_open   let_go     | closed    7   0     -     0     0   0     -     -         -      -
held_open   reset      | closed    7   0     -     0     0   0     -     -         -      -

held_closed fine       | nothing
held_closed failed     | nothing
held_closed looked     | nothing
held_closed stale      | nothing
held_closed asked      | nothing
held_closed tried      | nothing
held_closed spoilt     | nothing
held_closed returned   | nothing
held_closed late       | nothing
held_closed unknown    | nothing
held_closed limited    | open      6   -10   20    1     0   0     -     -         10     closed/ada
held_closed hold_open  | open      7   0     20    1     0   0     -     -         -      open/bob
held_closed hold_close | open      7   0     20    1     0   0     -     -         -      closed/bob
held_closed let_go     | closed    7   -10   -     0     0   0     -     -         -      -
held_closed reset      | closed    7   -10   -     0     0   0     -     -         -      -

paused      fine       | closed    6   -3600 -     0     0   0     -     w0+2,w1+0 8      -
paused      failed     | open      7   0     30    0     0   0     -     -         8      -
paused      looked     | nothing
paused      stale      | nothing
paused      asked      | nothing
paused      tried      | nothing
paused      spoilt     | nothing
paused      returned   | nothing
paused      late       | nothing
paused      unknown    | nothing
paused      limited    | closed    6   -3600 -     0     0   0     -     w0+2      10     -
paused      hold_open  | closed    7   0     -     0     0   0     -     -         8      open/bob
paused      hold_close | closed    7   0     -     0     0   0     -     -         8      closed/bob
paused      let_go     | nothing
paused      reset      | closed    7   -3600 -     0     0   0     -     -         -      -
"""


class Line(NamedTuple):
    stands: str
    event: str
    leads_to: str


def lines() -> list[Line]:
    rows = [line for line in PLAIN.splitlines() if "|" in line][1:]
    return [
        Line(*left.split(), " ".join(right.split()))
        for left, right in (row.split("|") for row in rows)
    ]


def seconds(instant: Instant | None) -> str:
    return "-" if instant is None else f"{(instant - NOW) / SECOND_US:g}"


def in_words(upstream: UpstreamState | None) -> str:
    if upstream is None:
        return "nothing"
    return " ".join(
        (
            upstream.gate.value,
            str(upstream.generation),
            seconds(upstream.since),
            seconds(upstream.open_until),
            str(upstream.reopenings),
            str(upstream.successes),
            str(upstream.granted),
            ",".join(f"{permit.number}{permit.worker}" for permit in upstream.permits) or "-",
            ",".join(f"{one.worker}{one.fine}+{one.failed}" for one in upstream.samples) or "-",
            seconds(upstream.paused_until),
            f"{upstream.forced}/{upstream.forced_by}" if upstream.forced else "-",
        )
    )


def after(upstream: UpstreamState, *events: BreakerEvent, now: Instant = NOW) -> UpstreamState:
    """The upstream once it has met the events, all at one instant."""
    for event in events:
        upstream = decide_breaker(upstream, event, POLICY, now) or upstream
    return upstream


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{line.stands}-{line.event}")
def test_every_event_at_every_gate_leads_to_what_is_written(line: Line):
    found = decide_breaker(STANDS[line.stands], EVENTS[line.event], POLICY, NOW)

    assert in_words(found) == line.leads_to


def test_every_pair_is_written_once():
    assert sorted((line.stands, line.event) for line in lines()) == sorted(
        itertools.product(STANDS, EVENTS)
    )


def test_every_kind_of_event_and_every_gate_is_in_the_table():
    assert {type(event) for event in EVENTS.values()} == set(get_args(BreakerEvent))
    assert {upstream.gate for upstream in STANDS.values()} == set(Gate)


@pytest.mark.parametrize("event", EVENTS.values(), ids=list(EVENTS))
@pytest.mark.parametrize("stands", STANDS)
def test_the_name_and_the_revision_stay(stands: str, event: BreakerEvent):
    found = decide_breaker(STANDS[stands], event, POLICY, NOW)

    assert found is None or (found.name, found.revision) == ("gateway", 9)


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

    def test_a_reset_forgets_all_there_was(self):
        everything = HALF_OPEN._replace(
            forced=Gate.OPEN, forced_by="ada", forced_reason="x", paused_until=at(100)
        )

        assert after(everything, ResetAsked()) == UpstreamState(
            "gateway", revision=9, generation=7, since=NOW
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
