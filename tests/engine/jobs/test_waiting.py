"""Why a job waits, in the same words wherever it is asked."""

import json

import pytest

from holdfast import Breaker, Pipeline, Upstream, Wait
from holdfast.core.job.job import JobState, WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.store.contract import Leases, PausedQueue, WorkerRow
from holdfast.testing import run_inline
from holdfast.views.explain.waiting import Around, Reason, obstacle, reasons
from holdfast.views.upstream import UpstreamView
from tests.sample_job import DUE, NOW, after, line

ROUTE = Route("mail", "news", "send")
GATEWAY = "gateway"


def worker(name: str = "w1", *, concurrency: int = 2, **changes: object) -> WorkerRow:
    row = WorkerRow(WorkerId(name), "h", 1, NOW, NOW, json.dumps(["mail"]), concurrency, "running")
    return row._replace(**{"stages": '["news/send"]', **changes})


def gateway(policy: Breaker | None = None, **state: object) -> dict[str, UpstreamView]:
    given = UpstreamState(GATEWAY)._replace(**state)
    return {GATEWAY: UpstreamView(given, policy, NOW)}


def why(around: Around):
    return obstacle(ROUTE, around, upstream=GATEWAY, now=NOW)


OPEN = {"gate": Gate.OPEN, "open_until": after(12)}
PAUSED = {"mail": PausedQueue("mail", after(-60), "ada", "the server is moved.")}


@pytest.mark.parametrize(
    ("around", "reason", "sentence", "remedy"),
    [
        (
            Around([worker()], {}, PAUSED, gateway(**OPEN)),
            Reason.QUEUE_PAUSED,
            "Queue mail was paused by ada, 1 min ago: the server is moved.",
            "holdfast queues resume mail",
        ),
        (
            Around([worker()], upstreams=gateway(**OPEN)),
            Reason.UPSTREAM,
            (
                "Held: the breaker of upstream gateway is open. It is tried again in 12 s. "
                "Waiting costs no attempt."
            ),
            "holdfast upstreams show gateway",
        ),
        (
            Around([worker()], upstreams=gateway(forced=Gate.OPEN, forced_by="ada")),
            Reason.UPSTREAM,
            "Held: the breaker of upstream gateway is held open by ada.",
            "holdfast upstreams reset gateway",
        ),
        (
            Around([worker()], upstreams=gateway(gate=Gate.HALF_OPEN)),
            Reason.UPSTREAM,
            "Held: the breaker of upstream gateway is half open, and trial calls decide.",
            "holdfast upstreams show gateway",
        ),
        (
            Around([worker()], upstreams=gateway(paused_until=after(30))),
            Reason.RATE,
            "Held: upstream gateway asked to be left alone for another 30 s.",
            "holdfast upstreams show gateway",
        ),
        (
            Around([worker(queues='["other"]'), worker(state="draining")]),
            Reason.NO_WORKER,
            "No live worker serves queue mail.",
            "holdfast -A module:app worker --queues mail",
        ),
        (
            Around([worker(stages='["news/draft"]')]),
            Reason.NO_HANDLER,
            "No live worker of queue mail knows stage send of pipeline news.",
            "holdfast -A module:app worker --queues mail",
        ),
        (
            Around([worker("a"), worker("b")], {"a": Leases(2), "b": Leases(3)}),
            Reason.WORKERS_BUSY,
            "All 2 workers are busy, with 5 jobs; it starts when a place is free.",
            None,
        ),
    ],
)
def test_what_keeps_workers_from_due_jobs_is_said_with_what_to_do(around, reason, sentence, remedy):
    found = why(around)

    assert (found.reason, found.sentence) == (reason, sentence)
    assert found.remedy is None if remedy is None else found.remedy.endswith(remedy)


@pytest.mark.parametrize(
    "around",
    [
        Around([worker()]),
        Around([worker("a"), worker("b")], {"a": Leases(2), "b": Leases(1, ended=4)}),
        Around([worker(stages=None)]),
        Around([worker()], upstreams=gateway(policy=Breaker(mode="fail_fast"), **OPEN)),
        Around([worker()], upstreams=gateway()),
    ],
)
def test_where_a_worker_may_take_them_nothing_is_in_the_way(around):
    assert why(around) is None


def test_an_open_breaker_ends_by_itself_at_its_next_trial():
    assert why(Around([worker()], upstreams=gateway(**OPEN))).until == after(12)


class TestOfAJob:
    def around(self) -> Around:
        return Around([worker()], {}, PAUSED)

    def test_its_own_time_comes_first_and_what_is_in_the_way_after_it(self):
        job = DUE._replace(run_at=after(30))

        found = reasons(job, self.around(), upstream=None, now=NOW)

        assert [each.reason for each in found] == [Reason.SCHEDULED, Reason.QUEUE_PAUSED]
        assert found[0].until == after(30)

    @pytest.mark.parametrize(
        ("history", "sentence"),
        [
            ((), "Attempt 1 of stage send failed; attempt 2 is due in 30 s."),
            (
                (line("retried", error_code="NETWORK"),),
                "Attempt 1 of stage send failed with NETWORK; attempt 2 is due in 30 s.",
            ),
        ],
    )
    def test_a_retry_says_when_it_is_due(self, history, sentence):
        job = DUE._replace(run_at=after(30), attempt=1)

        (found,) = reasons(job, Around([worker()]), upstream=None, now=NOW, history=history)

        assert (found.reason, found.sentence, found.until) == (Reason.RETRY, sentence, after(30))

    @pytest.mark.parametrize(
        ("run_at", "left", "until"),
        [
            (after(60), "for another 1 min", after(60)),
            (after(-1), "and its time is up", after(-1)),
            (FAR_FUTURE, "for as long as it takes", None),
        ],
    )
    def test_one_that_waits_for_an_answer_says_how_long(self, run_at, left, until):
        job = DUE._replace(state=JobState.WAITING, run_at=run_at)

        (found,) = reasons(job, self.around(), upstream=None, now=NOW)

        assert found.sentence == f"Stage send waits for an answer from outside, {left}."
        assert (found.reason, found.until) == (Reason.ANSWER, until)

    def test_one_that_is_due_and_free_to_go_waits_for_a_worker(self):
        (found,) = reasons(DUE, Around([worker()]), upstream=None, now=NOW)

        assert found.reason is Reason.WORKER

    @pytest.mark.parametrize("state", [JobState.PROCESSING, JobState.COMPLETE, JobState.FAILED])
    def test_one_that_runs_or_has_ended_waits_for_nothing(self, state):
        assert reasons(DUE._replace(state=state), self.around(), upstream=None, now=NOW) == []

    def test_a_reason_can_be_told_as_json(self):
        (found,) = reasons(
            DUE._replace(run_at=Instant(NOW + SECOND_US)),
            Around([worker()]),
            upstream=None,
            now=NOW,
        )

        assert found.to_document() == {
            "reason": "scheduled",
            "sentence": "Scheduled; stage send starts in 1.0 s.",
            "brief": "starts in 1.0 s",
            "whose": "nobody",
            "until": "2027-01-15T08:00:01.000000Z",
            "remedy": None,
        }


class TestOfAnEngine:
    @pytest.fixture
    def app(self, open_app):
        calls = Pipeline("calls", queue="work")
        calls.stage(name="call", calls=Upstream(GATEWAY, breaker=Breaker(consecutive=3)))(
            lambda _job: None
        )
        waits = Pipeline("waits", queue="work")
        waits.stage(name="ask")(lambda _job: Wait(timeout=60))
        return open_app(calls, waits)

    def first(self, app, job_id):
        return app.waiting(app.job(job_id))[0].reason

    def test_each_reason_is_found_as_things_stand(self, app):
        job_id = app.submit("calls").id
        assert self.first(app, job_id) is Reason.NO_WORKER

        now = app.clock.now()
        row = WorkerRow(WorkerId("w"), "h", 1, now, now, '["work"]', 1, "running")
        app.store.record_worker(row._replace(stages='["waits/ask"]'))
        assert self.first(app, job_id) is Reason.NO_HANDLER

        app.store.record_worker(row._replace(id=WorkerId("v"), stages='["calls/call"]'))
        assert self.first(app, job_id) is Reason.WORKER

        other = app.submit("waits").id
        app.store.claim(
            [Route("work", "waits", "ask")],
            holder=WorkerId("v"),
            now=now,
            lease_us=SECOND_US,
            limit=1,
        )
        assert (self.first(app, job_id), app.job(other).state) == (
            Reason.WORKERS_BUSY,
            JobState.PROCESSING,
        )

        app.upstreams.force_open(GATEWAY, by="ada")
        assert self.first(app, job_id) is Reason.UPSTREAM

        app.pause_queue("work", by="ada")
        assert self.first(app, job_id) is Reason.QUEUE_PAUSED

    def test_a_job_that_its_upstream_holds_is_labelled_so(self, app):
        due, later = app.submit("calls"), app.submit("calls", delay=60)
        free = app.submit("waits")
        views = [each.get() for each in (due, later, free)]
        assert [view.label for view in app.labelled(views)] == ["due", "scheduled", "due"]

        app.upstreams.force_open(GATEWAY, by="ada")

        assert [view.label for view in app.labelled(views)] == ["held", "scheduled", "due"]
        assert app.labelled(views)[0].to_document()["label"] == "held"

    def test_a_stage_that_waits_for_an_answer_says_so(self, app):
        job_id = app.submit("waits").id
        run_inline(app)

        (found,) = app.waiting(app.job(job_id))

        assert (found.reason, found.until) == (Reason.ANSWER, app.job(job_id).job.run_at)
