"""What holds for every upstream that events can lead to, however they come."""

import json
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.upstream.breaker import (
    Admits,
    BreakerEvent,
    ForceAsked,
    Observed,
    PermitsAsked,
    ProbeAsked,
    RateLimited,
    ResetAsked,
    TrialEnded,
    admission,
    decide_breaker,
)
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant, later

START = Instant(1_800_000_000 * SECOND_US)
WORKERS = ("a", "b", "c")

workers = st.sampled_from(WORKERS)
runs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), max_size=3).map(tuple)
policies = st.builds(
    Breaker,
    consecutive=st.integers(1, 6),
    minimum_workers=st.integers(1, 3),
    cooldown=st.just(10),
    growth=st.sampled_from([1.0, 2.0]),
    trials=st.integers(1, 4),
    successes=st.none() | st.integers(1, 4),
    trial_timeout=st.just(20),
    release=st.sampled_from([0, 5]),
)


class Step(NamedTuple):
    """A turn: time passes, then something happens; `behind` generations late."""

    span_us: int
    kind: str
    worker: str
    number: int
    runs: tuple[tuple[int, int], ...]
    behind: int


steps = st.builds(
    Step,
    st.sampled_from([0, 1, 0, SECOND_US, 11 * SECOND_US, 30 * SECOND_US]),
    st.sampled_from(
        [
            *["observed", "asked", "fine"] * 6,
            *["failed"] * 3,
            *("returned", "limited", "held", "probed", "reset"),
        ]
    ),
    workers,
    st.integers(0, 6),
    runs,
    st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),
)
lives = st.tuples(
    st.sampled_from(
        [
            UpstreamState("gateway"),
            UpstreamState("gateway", gate=Gate.OPEN, generation=1, since=START, open_until=START),
        ]
    ),
    st.lists(steps, min_size=10, max_size=60),
)


def event_of(step: Step, upstream: UpstreamState, now: Instant) -> BreakerEvent:
    generation = upstream.generation - step.behind
    match step.kind:
        case "observed":
            return Observed(step.worker, generation, step.runs, fleet=len(WORKERS))
        case "asked":
            return PermitsAsked(step.worker, step.number)
        case "fine" | "failed" | "returned":
            out = upstream.permits
            number = out[step.number % len(out)].number if out else step.number
            fine = {"fine": True, "failed": False, "returned": None}[step.kind]
            return TrialEnded(generation, number, fine)
        case "limited":
            return RateLimited(later(now, step.number * SECOND_US))
        case "held":
            return ForceAsked((Gate.OPEN, Gate.CLOSED, None)[step.number % 3], "ada")
        case "probed":
            return ProbeAsked()
    return ResetAsked()


class Turn(NamedTuple):
    before: UpstreamState
    event: BreakerEvent
    after: UpstreamState
    changed: bool
    now: Instant


def live(policy: Breaker, life: tuple[UpstreamState, list[Step]]):
    (upstream, its_steps), now = life, START
    for step in its_steps:
        now = later(now, step.span_us)
        event = event_of(step, upstream, now)
        decided = decide_breaker(upstream, event, policy, now)
        after = upstream if decided is None else decided
        yield Turn(upstream, event, after, decided is not None, now)
        upstream = after


@given(policies, lives)
def test_never_more_permits_are_under_way_than_trials(policy, life):
    for turn in live(policy, life):
        under_way = [permit for permit in turn.after.permits if permit.until > turn.now]
        assert len(under_way) <= policy.trials
        assert len({permit.number for permit in turn.after.permits}) == len(turn.after.permits)


@given(policies, lives)
def test_no_more_permits_are_given_than_are_needed_or_came_back(policy, life):
    came_back = generation = 0
    for turn in live(policy, life):
        if turn.after.generation != generation:
            came_back, generation = 0, turn.after.generation
        elif isinstance(turn.event, TrialEnded) and turn.event.fine is None:
            came_back += turn.changed
        if isinstance(turn.event, PermitsAsked) and turn.changed:
            kept = {permit.number for permit in turn.after.permits}
            came_back += sum(permit.number not in kept for permit in turn.before.permits)
        needed = max(policy.trials, policy.successes)
        assert turn.after.granted <= needed + came_back
        assert turn.after.successes < policy.successes


@given(policies, lives)
def test_an_answer_of_another_generation_changes_nothing(policy, life):
    for turn in live(policy, life):
        if (
            isinstance(turn.event, Observed | TrialEnded)
            and turn.event.generation != turn.before.generation
        ):
            assert not turn.changed


@given(policies, lives)
def test_the_generation_rises_by_one_with_every_move_of_the_gate_and_never_falls(policy, life):
    for turn in live(policy, life):
        step = turn.after.generation - turn.before.generation
        assert step in {0, 1}
        if turn.after.gate is not turn.before.gate or turn.after.forced != turn.before.forced:
            assert step == 1
        if step == 0:
            assert turn.after.since == turn.before.since


@given(policies, lives)
def test_the_gate_moves_only_as_it_may(policy, life):
    allowed = {
        (Gate.CLOSED, Gate.OPEN): Observed,
        (Gate.OPEN, Gate.HALF_OPEN): PermitsAsked,
        (Gate.HALF_OPEN, Gate.CLOSED): TrialEnded,
        (Gate.HALF_OPEN, Gate.OPEN): TrialEnded,
    }
    for turn in live(policy, life):
        move = (turn.before.gate, turn.after.gate)
        if move[0] is move[1] or isinstance(turn.event, ResetAsked | ForceAsked):
            continue
        assert isinstance(turn.event, allowed[move])
        assert turn.before.forced is None
        if move == (Gate.OPEN, Gate.HALF_OPEN):
            assert turn.now >= turn.before.open_until
        if move == (Gate.HALF_OPEN, Gate.CLOSED):
            assert turn.before.successes + 1 == policy.successes


@given(policies, lives)
def test_while_it_is_open_nothing_is_let_through_and_nothing_is_granted(policy, life):
    for turn in live(policy, life):
        upstream, now = turn.after, turn.now
        admitted = admission(upstream, policy, now)
        cooling = upstream.gate is Gate.OPEN and now < upstream.open_until
        if cooling and upstream.forced is not Gate.CLOSED:
            assert admitted.admits is Admits.NOTHING
        if admitted.admits is not Admits.TRIALS:
            assert decide_breaker(upstream, PermitsAsked("a", 9), policy, now) is None
        assert (admitted.admits is Admits.ALL) == (admitted.share > 0)


@given(policies, lives)
def test_each_field_is_there_when_the_gate_says_so(policy, life):
    for turn in live(policy, life):
        upstream = turn.after
        if upstream.forced is None:
            assert (upstream.open_until is not None) == (upstream.gate is Gate.OPEN)
            assert upstream.reopenings == 0 or upstream.gate is not Gate.CLOSED
        assert upstream.permits == () or upstream.gate is Gate.HALF_OPEN
        assert upstream.samples == () or upstream.gate is Gate.CLOSED
        assert (upstream.forced is None) == (upstream.forced_by is None)


@given(policies, lives)
def test_a_change_is_a_change(policy, life):
    for turn in live(policy, life):
        assert not turn.changed or turn.after != turn.before


@given(policies, lives)
def test_stored_and_read_again_it_decides_the_same(policy, life):
    for turn in live(policy, life):
        document = json.loads(json.dumps(turn.before.to_document()))
        again = UpstreamState.from_document("gateway", 0, document)
        decided = decide_breaker(again, turn.event, policy, turn.now)

        assert (turn.before if decided is None else decided) == turn.after


@given(policies, lives)
def test_the_time_it_was_open_is_the_sum_of_all_times_it_was(policy, life):
    open_us, last = 0, START
    for turn in live(policy, life):
        open_us += turn.now - last if turn.before.is_open else 0
        last = turn.now

        assert turn.before.open_time_us(turn.now) == open_us
        assert turn.after.open_time_us(turn.now) == open_us
        assert turn.after.is_open or turn.after.opened_at is None


def test_what_an_earlier_holdfast_opened_has_been_open_since_the_gate_moved():
    opened = UpstreamState("gateway", gate=Gate.OPEN, generation=1, since=START, open_until=START)

    assert opened.open_time_us(later(START, 5)) == 5
    closed = decide_breaker(opened, ResetAsked(), None, later(START, 7))
    assert closed.open_time_us(later(START, 100)) == 7
