"""Runners of replays that die, wake up late, or are many: every job runs once."""

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import ConflictError, Holdfast, Pipeline
from holdfast.core.dead_letter.replay import Counts, ReplayState
from holdfast.engine.dead_letters.replays import Replays
from holdfast.runtime.maintenance.replayer import Replayer
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import drain
from holdfast.testing.inline import run_inline
from tests.engine.replays.gateway import AT_ONCE, READY, Gateway, returns


def test_progress_is_rebuilt_from_the_rows(
    app: Holdfast, fail, gateway: Gateway, open_app, pipeline: Pipeline
):
    fail(5)
    gateway.down_for = {1}
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=0, rate=1, **READY)
    for _ in range(3):
        app.replays.advance(replay.id)
        drain(app)
        app.clock.advance(1)

    # Nobody has looked at the last job since it ended.
    other = open_app(pipeline)
    seen = other.replays.show(replay.id)

    assert seen.counts == Counts(pending=2, succeeded=2, failed_again=1)
    assert other.replays.latest() == [seen]
    for _ in range(3):
        seen = other.replays.advance(replay.id)
        drain(other)
        other.clock.advance(1)
    assert other.replays.advance(replay.id).state is ReplayState.DONE


def test_what_a_runner_marked_and_never_sent_is_sent_by_the_next(app: Holdfast, fail):
    ids = fail(3)
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=1, rate=None, **READY)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    doomed = Replayer(app.store, replay.id, send_back=die)
    doomed.tick(app.clock.now())
    with pytest.raises(KeyboardInterrupt):
        doomed.tick(app.clock.now())
    left = app.replays.show(replay.id)
    while not app.replays.advance(replay.id).ended:
        drain(app)

    assert left.counts == Counts(pending=2, unsent=1)
    assert returns(app, ids) == [1, 1, 1]
    assert app.replays.show(replay.id).counts == Counts(succeeded=3)


def test_a_mark_whose_letter_was_closed_meanwhile_is_taken_back(app: Holdfast, fail):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    doomed = Replayer(app.store, replay.id, send_back=lambda *_: 1 / 0)
    doomed.tick(app.clock.now())
    with pytest.raises(ZeroDivisionError):
        doomed.tick(app.clock.now())
    app.dead.resolve(job_id, note="by hand", by="bob", unreplayed=True)

    view = app.replays.advance(replay.id)

    assert view.counts == Counts(skipped=1)
    assert app.replays.items(replay.id)[0].note == "it is resolved"
    assert returns(app, [job_id]) == [0]


def test_a_runner_that_wakes_up_late_sends_nothing_twice(app: Holdfast, fail, gateway: Gateway):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    gateway.down_for = {0}

    def sleep_then_send(replay_row, item) -> str | None:
        # While this one sleeps, another runner sends the letter and its job dies again.
        app.replays.advance(replay.id)
        drain(app)
        return app.replays._send_back(replay_row, item)

    sleeper = Replayer(app.store, replay.id, send_back=sleep_then_send)
    while not sleeper.over:
        sleeper.tick(app.clock.now())

    view = app.replays.show(replay.id)
    assert (view.state, view.counts) == (ReplayState.DONE, Counts(failed_again=1))
    assert returns(app, [job_id]) == [1]
    assert gateway.calls == {0: 1}


class Meddled:
    """The rows of replays, in which something happens right before letters are marked."""

    def __init__(self, rows: Any, action: Callable[[], object]) -> None:
        self._rows, self._action = rows, action

    def advance(self, replay: Any, **more: Any) -> Any:
        if more.get("marks"):
            self._action()
        return self._rows.advance(replay, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


def test_a_runner_sends_nothing_once_its_replay_was_cancelled_while_it_looked(app: Holdfast, fail):
    ids = fail(2)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    sent: list[str] = []

    def send_back(replay_row: Any, item: Any) -> None:
        sent.append(item.letter_id)

    runner = Replayer(app.store, replay.id, send_back=send_back)
    runner._rows = Meddled(app.store.replays, lambda: app.replays.cancel(replay.id, by="bob"))
    for _ in range(3):
        runner.tick(app.clock.now())

    assert runner.over
    assert sent == []
    assert returns(app, ids) == [0, 0]


def run_all(*works: Callable[[], object]) -> None:
    """Run all of them at once, and raise what one of them raised."""
    barrier, errors = threading.Barrier(len(works)), []

    def begin(work: Callable[[], object]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def test_runners_of_one_replay_send_every_letter_once(
    app: Holdfast, fail, open_app, pipeline: Pipeline
):
    ids = fail(30)
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=1, rate=None, **READY)
    runners = [open_app(pipeline) for _ in range(3)]

    def advance(runner: Holdfast) -> Callable[[], object]:
        return lambda: runner.replays.advance(replay.id)

    run_all(*(advance(runner) for runner in runners))
    canary = app.replays.show(replay.id)
    drain(app)
    run_all(*(advance(runner) for runner in runners))
    drain(app)

    assert canary.counts == Counts(pending=29, under_way=1)
    assert app.replays.advance(replay.id).counts == Counts(succeeded=30)
    assert returns(app, ids) == [1] * 30


def test_two_replays_of_one_group_run_every_job_once(
    app: Holdfast, fail, open_app, pipeline: Pipeline, gateway: Gateway
):
    ids = fail(30)
    replays = [
        app.replays.start(name, LetterFilter(), by="ada", **AT_ONCE).id for name in ("one", "two")
    ]
    runners: list[Replays] = [open_app(pipeline).replays for _ in replays]

    run_all(
        *(
            lambda runner=runner, replay=replay: runner.advance(replay)
            for runner, replay in zip(runners, replays, strict=True)
        )
    )
    drain(app)
    ended = [app.replays.advance(replay) for replay in replays]

    assert returns(app, ids) == [1] * 30
    assert set(gateway.calls.values()) == {1}
    assert [view.state for view in ended] == [ReplayState.DONE] * 2
    assert sum(view.counts.succeeded for view in ended) == 30
    assert sum(view.counts.skipped for view in ended) == 30


def test_a_cancelled_replay_sends_nothing_more(app: Holdfast, fail):
    ids = fail(3)
    replay = app.replays.start("outage", LetterFilter(), by="ada", rate=None, **READY)
    app.replays.advance(replay.id)

    cancelled = app.replays.cancel(replay.id, by="bob", reason="not today")
    drain(app)
    after = app.replays.run(replay.id)

    assert (cancelled.state, cancelled.replay.note) == (ReplayState.CANCELLED, "not today")
    assert after.counts == Counts(pending=2, succeeded=1)
    assert returns(app, ids) == [1, 0, 0]
    for refused in (app.replays.resume, lambda one: app.replays.cancel(one, by="bob")):
        with pytest.raises(ConflictError, match="it is cancelled"):
            refused(replay.id)


def test_a_replay_is_run_to_its_end_by_real_time(open_app, pipeline: Pipeline, gateway: Gateway):
    app = open_app(pipeline, clock=None)
    ids = [app.submit("p", {"n": n}, key=f"k-{n}").id for n in range(4)]
    run_inline(app)
    gateway.down_for = set()
    replay = app.replays.start("outage", LetterFilter(), by="ada", rate=5, **READY)
    told = []

    def work_and_tell(view) -> None:
        told.append((view.state.value, view.counts.succeeded))
        run_inline(app)

    ended = app.replays.resume(replay.id, on_progress=work_and_tell)

    assert (ended.state, ended.counts) == (ReplayState.DONE, Counts(succeeded=4))
    assert told[0] == ("canary", 0)
    assert told[-1] == ("done", 4)
    assert returns(app, ids) == [1] * 4
    moments = [item.sent_at for item in app.replays.items(replay.id)]
    assert all(b - a >= 200_000 for a, b in itertools.pairwise(moments))
