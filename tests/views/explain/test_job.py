import json

import pytest

from holdfast.core.job.job import Job, JobState, WorkerId
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.core.values.retry import Retry
from holdfast.store.contract import WorkerRow
from holdfast.views.durations import short, span, when
from holdfast.views.explain.job import remark, situation
from holdfast.views.explain.retry import attempt_of
from holdfast.views.explain.waiting import Around, reasons
from holdfast.views.job import HistoryLine, JobView, WaitsFor
from tests.sample_job import DUE, NOW, RUNNING, after, line

PLAN = Plan("news", (StagePlan("send", Retry(attempts=4)),))


def worker() -> WorkerRow:
    return WorkerRow(WorkerId("w1"), "h", 1, NOW, NOW, json.dumps(["mail"]), 1, "running")


def said(job: Job, *history: HistoryLine, workers: int = 1) -> list[str]:
    around = Around(workers=[worker()] * workers)
    waiting = reasons(job, around, upstream=None, now=NOW, history=history)
    found = situation(JobView(job, NOW), history=history, plan=PLAN, waiting=waiting)
    return [each.with_command for each in found]


@pytest.mark.parametrize(
    ("length_us", "words", "few"),
    [
        (0, "0 ms", "0s"),
        (1_500, "1 ms", "0s"),
        (999_999, "999 ms", "0s"),
        (1_500_000, "1.5 s", "1s"),
        (42_000_000, "42 s", "42s"),
        (60_000_000, "1 min", "1m"),
        (185_000_000, "3 min 5 s", "3m"),
        (7_500_000_000, "2 h 5 min", "2h"),
        (90_000_000_000, "1 d 1 h", "1d"),
        (-42_000_000, "42 s", "42s"),
    ],
)
def test_a_length_of_time_is_told_in_the_units_people_use(length_us: int, words: str, few: str):
    assert (span(length_us), short(length_us)) == (words, few)


def test_an_instant_is_told_with_how_far_away_it_is():
    assert when(after(90), NOW) == "2027-01-15 08:01:30 UTC (in 1 min 30 s)"
    assert when(after(-5), NOW) == "2027-01-15 07:59:55 UTC (5.0 s ago)"
    assert when(FAR_FUTURE, NOW) == "never"
    assert when(None, NOW) is None


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (DUE, "due for 1 min"),
        (DUE._replace(run_at=after(30)), "starts in 30 s"),
        (DUE._replace(run_at=after(30), attempt=2), "attempt 3 in 30 s"),
        (DUE._replace(deadline_at=after(-5)), "deadline passed 5.0 s ago"),
        (RUNNING, "attempt 2, for 5.0 s on w1"),
        (DUE._replace(state=JobState.WAITING, run_at=after(60)), "for an answer, 1 min left"),
        (DUE._replace(state=JobState.WAITING, run_at=FAR_FUTURE), "for an answer"),
        (
            DUE._replace(state=JobState.COMPLETE, started_at=after(-9), finished_at=after(-2)),
            "took 7.0 s",
        ),
        (DUE._replace(state=JobState.FAILED, error='{"error_class": "X", "message": "m"}'), "m"),
        (DUE._replace(state=JobState.CANCELLED), ""),
    ],
)
def test_a_list_tells_the_one_thing_worth_knowing(job: Job, words: str):
    assert remark(JobView(job, NOW)) == words


def test_a_list_tells_of_a_job_that_is_held_what_holds_it():
    waits_for = WaitsFor("upstream", "the breaker of upstream gateway is open")
    view = JobView(DUE, NOW, held=True, waits_for=waits_for)

    assert (view.label, remark(view)) == (
        "held",
        "due for 1 min, the breaker of upstream gateway is open",
    )


@pytest.mark.parametrize(
    ("job", "history", "words"),
    [
        (DUE, [], "Due for 1 min; stage send has not started."),
        (DUE._replace(run_at=after(30)), [], "Scheduled; stage send starts in 30 s."),
        (
            DUE._replace(run_at=after(30), attempt=1),
            [line("retried", error_code="NETWORK")],
            "Attempt 1 of stage send failed with NETWORK; attempt 2 is due in 30 s.",
        ),
        (
            DUE._replace(run_at=after(30)),
            [line("snoozed")],
            "Stage send asked to be run again later; it is due in 30 s.",
        ),
        (RUNNING, [], "Stage send, attempt 2 of 4, has run for 5.0 s on w1."),
        (
            RUNNING._replace(lease_until=after(-3)),
            [],
            ("Stage send, attempt 2 of 4, began 5.0 s ago on w1."),
        ),
        (
            DUE._replace(state=JobState.WAITING, run_at=after(60)),
            [],
            "Stage send waits for an answer from outside, for another 1 min.",
        ),
        (
            DUE._replace(state=JobState.CANCELLED),
            [line("cancelled", by="ada", reason=None)],
            "Cancelled by ada.",
        ),
        (DUE._replace(state=JobState.CANCELLED), [], "Cancelled."),
    ],
)
def test_a_job_says_how_it_stands(job: Job, history: list[HistoryLine], words: str):
    assert said(job, *history)[0] == words


def test_a_due_job_with_a_worker_waits_for_a_free_one():
    assert said(DUE)[1:] == ["It waits for a free worker that knows its pipeline."]


def test_a_scheduled_job_with_a_worker_has_no_obstacle():
    assert said(DUE._replace(run_at=after(30)))[1:] == []


def test_a_job_past_its_deadline_says_who_ends_it():
    assert said(RUNNING._replace(deadline_at=after(-1)))[1:] == [
        "Its deadline has passed; a running worker will end it as failed."
    ]


def test_without_a_plan_the_budget_is_not_told():
    assert attempt_of(RUNNING, None) == "2"
