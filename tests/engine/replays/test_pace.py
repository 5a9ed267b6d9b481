"""Many dead letters sent back: a canary, a rate, a stop rule, a record."""

import itertools

import pytest

from holdfast import Holdfast, JobState
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.dead_letter.replay import MAX_UNDER_WAY, Counts, ReplayState
from holdfast.engine.dead_letters.replays import reason_of
from holdfast.errors import InvalidValue, UnknownReplay
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import ManualClock, drain
from tests.engine.replays.gateway import AT_ONCE, READY, Gateway, returns, states


def test_nothing_is_sent_before_the_replay_is_run(app: Holdfast, fail):
    ids = fail(3)

    view = app.replays.start("outage", LetterFilter(), by="ada", reason="it is back", **READY)

    assert view.state is ReplayState.PLANNED
    assert view.counts == Counts(pending=3)
    assert states(app, ids) == [JobState.FAILED] * 3
    assert {app.dead.get(job_id).letter.state for job_id in ids} == {LetterState.REMEDIATED}


def test_the_rest_waits_for_the_canary(app: Holdfast, fail):
    ids = fail(4)
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=2, rate=None, **READY)

    begun = app.replays.advance(replay.id)
    sent = returns(app, ids)
    drain(app)
    done = app.replays.advance(replay.id)
    drain(app)
    ended = app.replays.advance(replay.id)

    assert (begun.state, begun.counts) == (ReplayState.CANARY, Counts(pending=2, under_way=2))
    assert sent == [1, 1, 0, 0]
    assert (done.state, done.counts) == (ReplayState.RUNNING, Counts(under_way=2, succeeded=2))
    assert (ended.state, ended.counts) == (ReplayState.DONE, Counts(succeeded=4))
    assert states(app, ids) == [JobState.COMPLETE] * 4


def test_a_canary_that_fails_keeps_the_rest_back(app: Holdfast, gateway: Gateway, fail):
    ids = fail(3)
    gateway.down_for = {0}
    replay = app.replays.start("outage", LetterFilter(), by="ada", rate=None, **READY)

    app.replays.advance(replay.id)
    drain(app)
    stopped = app.replays.advance(replay.id)

    assert stopped.state is ReplayState.STOPPED
    assert stopped.replay.note == "the canary failed: 1 job failed again"
    assert stopped.counts == Counts(pending=2, failed_again=1)
    assert returns(app, ids) == [1, 0, 0]
    assert app.replays.run(replay.id) == stopped


def test_a_canary_that_is_cancelled_keeps_the_rest_back(app: Holdfast, fail):
    ids = fail(2)
    replay = app.replays.start("outage", LetterFilter(), by="ada", rate=None, **READY)

    app.replays.advance(replay.id)
    app.cancel(ids[0], by="ada")
    stopped = app.replays.advance(replay.id)

    assert stopped.state is ReplayState.STOPPED
    assert stopped.counts == Counts(pending=1, cancelled=1)


def test_letters_are_sent_at_the_rate_and_no_faster(app: Holdfast, fail, clock: ManualClock):
    fail(6)
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=0, rate=2, **READY)

    sent = []
    for _ in range(15):
        sent.append(app.replays.advance(replay.id).counts.sent)
        clock.advance(0.2)

    assert sent == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]
    moments = [item.sent_at for item in app.replays.items(replay.id) if item.sent_at]
    assert {after - before for before, after in itertools.pairwise(moments)} == {600_000}


def test_it_stops_once_too_many_failed_again(app: Holdfast, gateway: Gateway, fail):
    ids = fail(6)
    gateway.down_for = {1, 3}
    replay = app.replays.start(
        "outage", LetterFilter(), by="ada", canary=1, rate=1, stop_after=2, **READY
    )

    view = replay
    for _ in range(20):
        view = app.replays.advance(replay.id)
        drain(app)
        app.clock.advance(1)

    assert view.state is ReplayState.STOPPED
    assert view.replay.note == "2 jobs failed again"
    assert view.counts == Counts(pending=2, succeeded=2, failed_again=2)
    assert returns(app, ids) == [1, 1, 1, 1, 0, 0]


def test_without_a_rate_it_stops_before_all_have_failed_again(
    app: Holdfast, gateway: Gateway, fail
):
    ids = fail(MAX_UNDER_WAY + 3)
    gateway.down_for = set(range(len(ids)))
    replay = app.replays.start(
        "outage", LetterFilter(), by="ada", canary=0, rate=None, stop_after=1, **READY
    )

    begun = app.replays.advance(replay.id)
    drain(app)
    stopped = app.replays.advance(replay.id)

    assert begun.counts == Counts(pending=3, under_way=MAX_UNDER_WAY)
    assert stopped.state is ReplayState.STOPPED
    assert stopped.counts == Counts(pending=3, failed_again=MAX_UNDER_WAY)


def test_a_replay_is_told_in_the_history_and_on_record(app: Holdfast, fail):
    ids = fail(1)

    view = app.replays.start("outage 7", LetterFilter(), by="ada", reason="it is back", **READY)
    app.replays.advance(view.id)
    drain(app)
    app.replays.advance(view.id)

    line = next(line for line in app.history(ids[0]) if line.event == "revived")
    assert (line.meta["by"], line.meta["reason"]) == ("ada", reason_of(view.replay))
    assert line.meta["reason"] == f"replay {view.id}, outage 7: it is back"
    actions = app.store.audit.latest(subject_kind="replay", subject=view.id)
    assert [(entry.action, entry.done_by) for entry in reversed(actions)] == [
        ("planned", "ada"),
        ("canary", "holdfast"),
        ("done", "holdfast"),
    ]
    assert actions[-1].detail == {"name": "outage 7", "canary": 1, "rate": 10.0, "stop_after": 5}


def test_a_replay_from_the_start_runs_all_stages_again(app: Holdfast, fail):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", from_start=True, **AT_ONCE)

    app.replays.advance(replay.id)

    assert (app.job(job_id).job.stage, app.job(job_id).job.run) == ("fetch", 2)


def test_a_replay_that_is_not_there_is_unknown(app: Holdfast):
    for read in (app.replays.show, app.replays.run, app.replays.items, app.replays.advance):
        with pytest.raises(UnknownReplay, match="no replay has the id 'nothing'"):
            read("nothing")


WRONG = {
    "no name": {"name": ""},
    "a name over lines": {"name": "a\nb"},
    "nobody": {"by": ""},
    "a negative canary": {"canary": -1},
    "a canary of halves": {"canary": 1.5},
    "no rate": {"rate": 0},
    "a rate that is no number": {"rate": float("nan")},
    "a rate that is true": {"rate": True},
    "too high a rate": {"rate": 10_001},
    "a stop rule of none": {"stop_after": 0},
    "a cause without evidence": {"cause": "data"},
    "evidence without a cause": {"evidence": "seen"},
    "empty evidence": {"cause": "data", "evidence": " "},
    "an unknown cause": {"cause": "moon", "evidence": "seen"},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_terms_that_make_no_sense_are_refused_and_nothing_is_stored(
    app: Holdfast, fail, changes: dict[str, object]
):
    (job_id,) = fail(1)
    terms = {"name": "outage", "by": "ada", **READY, **changes}
    if "cause" in changes or "evidence" in changes:
        terms = {"name": "outage", "by": "ada", **changes}

    with pytest.raises(InvalidValue):
        app.replays.start(terms.pop("name"), LetterFilter(), **terms)
    assert app.replays.latest() == []
    assert app.dead.get(job_id).letter.state is LetterState.OPEN


def test_a_view_is_a_document(app: Holdfast, fail):
    fail(1)

    document = app.replays.start("outage", LetterFilter(), by="ada", **READY).to_document()

    assert document["letters"] == 1
    assert document["rate"] == 10.0
    assert document["counts"]["pending"] == 1
    assert document["created_at"].endswith("Z")
