"""Many dead letters sent back: a frozen list, a canary, a rate, a stop rule, one run each."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from holdfast import ConflictError, GiveUp, Holdfast, JobState, Pipeline, UsageError
from holdfast.core.dead_letter import LetterState
from holdfast.core.decision import Kind
from holdfast.core.replay import Counts, ItemState, ReplayState
from holdfast.errors import InvalidValue, UnknownReplay
from holdfast.replays import FROM_A_FILE, NO_KEY, Replays, reason_of
from holdfast.runtime.replayer import Replayer
from holdfast.store.letters import LetterFilter
from holdfast.testing import ManualClock, drain
from holdfast.testing.inline import run_inline

READY = {"cause": "transient", "evidence": "the gateway answers again"}
AT_ONCE = {**READY, "canary": 0, "rate": None}


class Gateway:
    """An upstream that is down for some, or for all."""

    def __init__(self) -> None:
        self.down_for: set[int] | None = None
        self.calls: Counter[int] = Counter()

    def call(self, job, n: int) -> int:
        self.calls[n] += 1
        if self.down_for is None or n in self.down_for:
            raise GiveUp("GATEWAY_DOWN", f"no answer for {n}")
        return n


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def pipeline(gateway: Gateway) -> Pipeline:
    made = Pipeline("p")

    @made.stage
    def fetch(job, n: int) -> int:
        return n

    made.stage(name="convert")(gateway.call)
    return made


@pytest.fixture
def app(open_app, pipeline: Pipeline) -> Holdfast:
    return open_app(pipeline)


@pytest.fixture
def fail(app: Holdfast, gateway: Gateway) -> Callable[..., list[str]]:
    """Makes that many dead letters, and mends the gateway."""

    def make(count: int, *, first: int = 0, keys: bool = True) -> list[str]:
        gateway.down_for = None
        ids = [
            app.submit("p", {"n": n}, key=f"k-{n}" if keys else None).id
            for n in range(first, first + count)
        ]
        drain(app)
        gateway.down_for = set()
        gateway.calls.clear()
        return ids

    return make


def states(app: Holdfast, ids: list[str]) -> list[JobState]:
    return [app.job(job_id).state for job_id in ids]


def returns(app: Holdfast, ids: list[str]) -> list[int]:
    """How often each job was sent back, as its ledger has it."""
    return [
        sum(line.entry.kind is Kind.REVIVED for line in app.store.ledger(job_id)) for job_id in ids
    ]


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


def test_letters_that_die_later_are_not_in_the_list(app: Holdfast, fail):
    ids = fail(2)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    later = fail(2, first=2)

    app.replays.advance(replay.id)

    assert returns(app, ids) == [1, 1]
    assert returns(app, later) == [0, 0]
    assert [item.letter_id for item in app.replays.items(replay.id)] == ids


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


def test_letters_that_cannot_be_sent_any_more_are_skipped_with_the_reason(app: Holdfast, fail):
    ids = fail(5)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    app.dead.resolve(ids[0], note="by hand", by="bob", unreplayed=True)
    app.dead.replay(ids[1], by="bob")
    app.dead.triage(ids[2], cause="data", by="bob")
    app.retry(ids[3], by="bob")
    drain(app)

    app.replays.advance(replay.id)

    found = [(item.state, item.note) for item in app.replays.items(replay.id)]
    assert found == [
        (ItemState.SKIPPED, "it is resolved"),
        (ItemState.SKIPPED, "somebody else sent its job back"),
        (ItemState.SKIPPED, "it has not been remediated"),
        (ItemState.SKIPPED, "somebody else sent its job back"),
        (ItemState.SENT, None),
    ]
    assert returns(app, ids) == [0, 1, 0, 1, 1]


def test_a_job_that_died_again_by_another_hand_is_not_sent_again(
    app: Holdfast, gateway: Gateway, fail
):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    gateway.down_for = {0}
    app.dead.replay(job_id, by="bob")
    drain(app)
    app.dead.triage(job_id, cause="transient", by="bob")
    app.dead.remediate(job_id, evidence="mended", by="bob")

    view = app.replays.advance(replay.id)

    assert (view.state, view.counts) == (ReplayState.DONE, Counts(skipped=1))
    assert returns(app, [job_id]) == [1]


def test_a_letter_that_has_yet_to_be_worked_on_is_not_replayed(app: Holdfast, fail):
    ids = fail(4)
    app.dead.triage(ids[1], cause="data", by="ada")
    for job_id in ids[2:]:
        app.dead.triage(job_id, cause="data", by="ada")
        app.dead.remediate(job_id, evidence="corrected", by="ada")

    view = app.replays.start("outage", LetterFilter(), by="ada")

    assert view.counts == Counts(pending=2, skipped=2)
    assert [item.note for item in app.replays.items(view.id)] == [
        "it has not been triaged",
        "it has not been remediated",
        None,
        None,
    ]


def test_what_is_said_of_all_replaces_nothing_that_was_found_out(app: Holdfast, fail):
    ids = fail(2)
    app.dead.triage(ids[0], cause="code_defect", by="bob")
    app.dead.triage(ids[1], cause="data", by="bob")
    app.dead.remediate(ids[1], evidence="corrected", by="bob")

    app.replays.start("outage", LetterFilter(), by="ada", **READY)

    letters = [app.dead.get(job_id).letter for job_id in ids]
    assert [(letter.cause, letter.evidence) for letter in letters] == [
        ("code_defect", "the gateway answers again"),
        ("data", "corrected"),
    ]


def test_what_is_said_of_all_is_on_record_for_each(app: Holdfast, fail):
    (job_id,) = fail(1)

    app.replays.start("outage", LetterFilter(), by="ada", **READY)

    actions = reversed(app.dead.show(job_id).actions)
    assert [(entry.action, entry.done_by, entry.reason) for entry in actions] == [
        ("triaged", "ada", None),
        ("remediated", "ada", "the gateway answers again"),
    ]
    assert app.verify() == []


def test_a_letter_that_moved_since_it_was_read_is_not_readied(app: Holdfast, fail):
    (job_id,) = fail(1)
    read = app.dead.get(job_id).letter
    app.dead.triage(job_id, cause="data", by="bob")

    assert not app.dead.ready(read, by="ada", **READY)
    app.dead.resolve(job_id, note="by hand", by="bob", unreplayed=True)
    assert not app.dead.ready(app.dead.get(job_id).letter, by="ada", **READY)
    assert app.dead.get(job_id).letter.cause == "data"


def test_a_job_without_a_key_needs_a_word_that_it_may_be_repeated(app: Holdfast, fail):
    ids = [*fail(1), *fail(1, first=1, keys=False)]

    careful = app.replays.start("one", LetterFilter(), by="ada", **AT_ONCE)
    bold = app.replays.start("two", LetterFilter(), by="ada", confirm_idempotent=True, **AT_ONCE)

    assert [item.note for item in app.replays.items(careful.id)] == [None, NO_KEY]
    assert bold.counts == Counts(pending=2)
    app.replays.advance(bold.id)
    assert returns(app, ids) == [1, 1]


def test_a_replay_from_the_start_runs_all_stages_again(app: Holdfast, fail):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", from_start=True, **AT_ONCE)

    app.replays.advance(replay.id)

    assert (app.job(job_id).job.stage, app.job(job_id).job.run) == ("fetch", 2)


def test_a_group_is_named_by_its_fingerprint(app: Holdfast, fail, gateway: Gateway):
    ids = fail(2)
    (group,) = app.dead.groups()

    view = app.replays.start("outage", group.fingerprint, by="ada", **AT_ONCE)

    assert view.counts == Counts(pending=2)
    assert [item.letter_id for item in app.replays.items(view.id)] == ids
    with pytest.raises(UsageError, match="no dead letter matches"):
        app.replays.start("outage", "another", by="ada")


def test_a_preview_tells_what_would_happen_and_changes_nothing(app: Holdfast, fail):
    ids = [*fail(7), *fail(1, first=7, keys=False)]
    app.dead.triage(ids[0], cause="data", by="ada")

    bare = app.replays.preview(LetterFilter())
    readied = app.replays.preview(LetterFilter(error_class="GATEWAY_DOWN"), readied=True)

    assert (bare.letters, bare.ready) == (8, 0)
    assert bare.skipped == {"it has not been triaged": 7, "it has not been remediated": 1}
    assert (readied.letters, readied.ready) == (8, 7)
    assert readied.skipped == {NO_KEY: 1}
    assert readied.pipelines == {"p": 7}
    assert readied.stages == {"convert": 7}
    assert readied.error_classes == {"GATEWAY_DOWN": 7}
    assert [letter.id for letter in readied.first] == ids[:5]
    assert readied.to_document()["first"][0]["id"] == ids[0]
    assert app.replays.preview(LetterFilter(stage="fetch")).letters == 0
    assert app.dead.get(ids[1]).letter.state is LetterState.OPEN
    assert app.replays.latest() == []


def test_where_nothing_can_be_sent_nothing_is_started(app: Holdfast, fail):
    fail(2)

    with pytest.raises(UsageError, match=r"none of the 2 dead letters .*\(2: it has not been tri"):
        app.replays.start("outage", LetterFilter(), by="ada")
    assert app.replays.latest() == []


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
    assert FROM_A_FILE
