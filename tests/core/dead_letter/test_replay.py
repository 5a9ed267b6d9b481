"""What a replay does next, written out.

A line reads: a replay in that state, whose letters stand so, takes that step. The list is behind a
canary of two, at one letter in ten seconds, with a stop rule of three; the last letter was sent
ten seconds ago.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.dead_letter.replay import (
    BATCH,
    CATCH_UP_US,
    ENDED,
    MAX_UNDER_WAY,
    POLL_US,
    Choice,
    Counts,
    Item,
    ItemState,
    Move,
    Pause,
    Replay,
    ReplayState,
    Run,
    Seen,
    Send,
    SendAgain,
    choose,
    next_step,
    obstacle,
    run_of,
    run_of_seen,
)
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import SECOND_US, Instant

NOW = Instant(1_800_000_000 * SECOND_US)
EVERY_US = 10 * SECOND_US

STEPS = """
state     pending unsent under succeeded failed cancelled | step

planned   5       0      0     0         0      0         | canary
planned   0       0      0     0         0      0         | canary
planned   3       2      0     0         0      0         | again

canary    5       0      0     0         0      0         | send 1
canary    1       0      0     0         0      0         | send 1
canary    4       0      1     0         0      0         | send 1
canary    4       0      0     1         0      0         | send 1
canary    4       1      0     0         0      0         | again
canary    3       1      1     0         0      0         | again
canary    3       0      2     0         0      0         | poll
canary    3       0      1     1         0      0         | poll
canary    3       0      0     2         0      0         | running
canary    4       0      0     0         1      0         | stopped
canary    3       0      1     0         1      0         | stopped
canary    3       0      0     1         1      0         | stopped
canary    3       1      0     0         1      0         | stopped
canary    3       0      0     1         0      1         | stopped
canary    0       0      1     0         0      0         | poll
canary    0       0      0     2         0      0         | done
canary    0       0      0     0         2      0         | done
canary    0       0      0     0         0      0         | done

running   5       0      0     2         0      0         | send 1
running   5       0      9     2         2      0         | send 1
running   5       1      0     2         0      0         | again
running   5       0      0     2         3      0         | stopped
running   5       0      9     2         4      0         | stopped
running   5       1      0     2         3      0         | stopped
running   0       1      0     2         3      0         | stopped
running   5       0      0     2         0      9         | send 1
running   0       0      1     2         3      0         | poll
running   0       0      0     2         3      0         | done
running   0       0      0     9         0      0         | done
running   0       1      0     9         0      0         | again

done      5       1      0     0         3      0         | -
stopped   5       1      0     0         3      0         | -
cancelled 5       1      0     0         3      0         | -
"""


def a_replay(state: str = "running", **changes) -> Replay:
    replay = Replay(
        id="r",
        name="outage",
        asked_by="ada",
        reason=None,
        created_at=NOW,
        updated_at=NOW,
        revision=3,
        state=ReplayState(state),
        from_start=False,
        canary=2,
        every_us=EVERY_US,
        stop_after=3,
        last_sent_at=Instant(NOW - EVERY_US),
        note=None,
    )
    return replay._replace(**changes)


def step_of(word: str):
    match word.split():
        case ["-"]:
            return None
        case ["again"]:
            return SendAgain()
        case ["poll"]:
            return Pause(Instant(NOW + POLL_US))
        case ["send", count]:
            return Send(int(count))
        case [state]:
            return Move(ReplayState(state))
    raise AssertionError(word)


def lines_of(table: str) -> list[tuple[str, Counts, str]]:
    found = []
    for line in table.strip().splitlines()[1:]:
        if line.strip():
            given_part, _, step = line.partition("|")
            state, *numbers = given_part.split()
            names = ("pending", "unsent", "under_way", "succeeded", "failed_again", "cancelled")
            counts = Counts(**dict(zip(names, map(int, numbers), strict=True)))
            found.append((state, counts, step.strip()))
    return found


@pytest.mark.parametrize(("state", "counts", "word"), lines_of(STEPS))
def test_a_replay_takes_the_step_that_is_next(state: str, counts: Counts, word: str):
    step = next_step(a_replay(state), counts, NOW)

    expected = step_of(word)
    if word == "stopped":
        assert isinstance(step, Move)
        assert step.state is ReplayState.STOPPED
        assert step.note
    else:
        assert step == expected


def test_every_state_is_in_the_table():
    assert {state for state, _, _ in lines_of(STEPS)} == {state.value for state in ReplayState}


def test_without_a_canary_all_are_sent_from_the_beginning():
    step = next_step(a_replay("planned", canary=0), Counts(pending=5), NOW)

    assert step == Move(ReplayState.RUNNING)


def test_a_stop_tells_why():
    canary = next_step(a_replay("canary"), Counts(pending=1, failed_again=1), NOW)
    cancelled = next_step(a_replay("canary"), Counts(pending=1, cancelled=2), NOW)
    rule = next_step(a_replay(), Counts(pending=1, failed_again=4), NOW)

    assert canary == Move(ReplayState.STOPPED, "the canary failed: 1 job failed again")
    assert cancelled == Move(ReplayState.STOPPED, "the canary did not succeed: 2 jobs cancelled")
    assert rule == Move(ReplayState.STOPPED, "4 jobs failed again")


def test_without_a_stop_rule_nothing_stops_it_but_the_canary():
    counts = Counts(pending=1, failed_again=1000)

    assert next_step(a_replay(stop_after=0), counts, NOW) == Send(1)
    assert isinstance(next_step(a_replay("canary", stop_after=0), counts, NOW), Move)


SPANS = {
    "long before its turn": (EVERY_US // 2, Pause(Instant(NOW + POLL_US))),
    "shortly before its turn": (EVERY_US - 1, Pause(Instant(NOW + 1))),
    "at once": (0, Pause(Instant(NOW + POLL_US))),
    "in time": (EVERY_US, Send(1)),
    "hours late": (3600 * SECOND_US, Send(1)),
    "when the clock was set back": (-3600 * SECOND_US, Send(1)),
}


@pytest.mark.parametrize(("waited_us", "expected"), SPANS.values(), ids=SPANS)
def test_letters_keep_their_distance(waited_us: int, expected: Send | Pause):
    replay = a_replay(last_sent_at=Instant(NOW - waited_us))

    assert next_step(replay, Counts(pending=50), NOW) == expected


def test_the_first_letter_waits_for_nothing_and_takes_no_other_along():
    replay = a_replay("canary", last_sent_at=None)

    assert next_step(replay, Counts(pending=50), NOW) == Send(1)
    assert next_step(replay._replace(every_us=0), Counts(pending=50), NOW) == Send(2)


def test_a_runner_that_is_a_little_late_catches_up_and_never_more_than_that():
    every_us = SECOND_US // 1000

    def sent_after(waited_us: int) -> int:
        last = Instant(NOW - waited_us)
        step = next_step(a_replay(every_us=every_us, last_sent_at=last), Counts(pending=1000), NOW)
        assert isinstance(step, Send)
        return step.count

    assert [sent_after(waited * every_us) for waited in (1, 2, 7)] == [1, 2, 7]
    assert sent_after(60 * SECOND_US) == BATCH
    assert next_step(
        a_replay(every_us=CATCH_UP_US // 4, last_sent_at=Instant(NOW - 60 * SECOND_US)),
        Counts(pending=1000),
        NOW,
    ) == Send(5)


def test_without_a_rate_letters_go_in_batches():
    assert next_step(a_replay(every_us=0), Counts(pending=1000), NOW) == Send(BATCH)
    assert next_step(a_replay(every_us=0), Counts(pending=3), NOW) == Send(3)


@pytest.mark.parametrize(
    ("under_way", "expected"),
    [
        (0, Send(BATCH)),
        (MAX_UNDER_WAY - 1, Send(1)),
        (MAX_UNDER_WAY, Pause(Instant(NOW + POLL_US))),
        (MAX_UNDER_WAY + 7, Pause(Instant(NOW + POLL_US))),
    ],
)
def test_without_a_rate_a_stop_rule_hears_of_failures_before_all_is_sent(under_way, expected):
    counts = Counts(pending=1000, under_way=under_way)

    assert next_step(a_replay(every_us=0, stop_after=3), counts, NOW) == expected
    assert next_step(a_replay(every_us=0, stop_after=0), counts, NOW) == Send(BATCH)


@given(
    every_us=st.integers(1, 2 * SECOND_US),
    turns_us=st.lists(st.integers(0, SECOND_US), min_size=1, max_size=60),
)
def test_no_span_holds_more_letters_than_the_rate_and_what_it_may_catch_up(every_us, turns_us):
    now, replay, sent = NOW, a_replay(every_us=every_us, last_sent_at=None), []
    for turn_us in turns_us:
        now = Instant(now + turn_us)
        step = next_step(replay, Counts(pending=10_000), now)
        if isinstance(step, Send):
            sent.append((now, step.count))
            replay = replay._replace(last_sent_at=now)

    for (begin, _), (end, _) in itertools.combinations(sent, 2):
        within = sum(count for at, count in sent if begin <= at <= end)
        assert (within - 1) * every_us <= (end - begin) + CATCH_UP_US + every_us


def a_seen(
    letter: str | None = "remediated", job: str | None = "failed", retries: int | None = 4
) -> Seen:
    return Seen(
        Item(1, "id", ItemState.PENDING, 4, None, None),
        None if letter is None else LetterState(letter),
        None if job is None else JobState(job),
        retries,
    )


OBSTACLES = {
    "ready": (a_seen(), None),
    "no letter": (a_seen(letter=None), "the dead letter is no longer there"),
    "no job": (a_seen(job=None, retries=None), "its job is no longer there"),
    "replayed by somebody": (a_seen(retries=5), "somebody else sent its job back"),
    "failed again after that": (a_seen("open", retries=5), "somebody else sent its job back"),
    "complete": (a_seen(job="complete"), "its job is complete"),
    "open": (a_seen("open"), "it has not been triaged"),
    "triaged": (a_seen("triaged"), "it has not been remediated"),
    "replayed": (a_seen("replayed"), "it was replayed already"),
    "resolved": (a_seen("resolved"), "it is resolved"),
}


@pytest.mark.parametrize(("seen", "why"), OBSTACLES.values(), ids=OBSTACLES)
def test_a_letter_that_cannot_be_replayed_has_a_reason(seen: Seen, why: str | None):
    assert obstacle(seen) == why


RUNS = """
job        0         1            2

queued     under_way under_way    failed_again
processing under_way under_way    failed_again
waiting    under_way under_way    failed_again
complete   succeeded succeeded    failed_again
failed     unsent    failed_again failed_again
cancelled  cancelled cancelled    failed_again
"""


@pytest.mark.parametrize(
    ("job_state", "sent_back", "run"),
    [
        (line.split()[0], sent_back, line.split()[1 + sent_back])
        for line in RUNS.strip().splitlines()[2:]
        for sent_back in range(3)
    ],
)
def test_what_became_of_a_letter_shows_in_its_job(job_state: str, sent_back: int, run: str):
    assert run_of(job_state=JobState(job_state), sent_back=sent_back) is Run(run)


def test_a_job_that_is_gone_counts_as_ended_otherwise():
    assert run_of_seen(a_seen(job=None, retries=None)) is Run.CANCELLED
    assert run_of_seen(a_seen(retries=5)) is Run.FAILED_AGAIN
    assert run_of_seen(a_seen(retries=4)) is Run.UNSENT


def test_letters_that_cannot_be_sent_make_room_for_the_next():
    ready, resolved = a_seen(), a_seen("resolved")
    numbered = [
        seen._replace(item=seen.item._replace(position=position))
        for position, seen in enumerate([resolved, ready, resolved, ready, resolved, ready])
    ]

    choice = choose(numbered, 2)

    assert [item.position for item in choice.send] == [1, 3]
    assert [(item.position, why) for item, why in choice.skip] == [
        (0, "it is resolved"),
        (2, "it is resolved"),
    ]
    assert choose([resolved], 2).send == ()
    assert choose([], 2) == Choice((), ())


def test_the_counts_add_up():
    counts = Counts(1, 2, 3, 4, 5, 6, 7)

    assert counts.total == 28
    assert counts.sent == 2 + 3 + 4 + 5 + 6


def test_an_ended_replay_is_in_a_state_of_its_own():
    assert {ReplayState.DONE, ReplayState.STOPPED, ReplayState.CANCELLED} == ENDED
