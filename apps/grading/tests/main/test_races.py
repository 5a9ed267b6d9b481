import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.grading.tests.sides import Main, completed, made_main
from holdfast.testing import ManualClock, run_inline

SLA_S = 1_200


def ends_of(main: Main, submission_id: str) -> list[str]:
    events = [line.event for line in main.app.history(submission_id)]
    return [event for event in events if event in ("completed", "expired")]


def race(url: str, rounds: int) -> None:
    """Have a sweeper and a callback commit at the same moment, again and again."""
    clock, later = ManualClock(), ManualClock()
    settings = {"submissions_per_minute": 0, "quota_active": 10_000}
    with (
        made_main(url, clock=clock, **settings) as main,
        made_main(url, clock=later, **settings) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        for _ in range(rounds):
            request = main.requested()
            # The callback is received at the very end; the sweeper looks right after it.
            clock.advance(SLA_S)
            later.set(clock.now() + 1)
            start = threading.Barrier(2)

            def answer(request: dict = request, start: threading.Barrier = start) -> None:
                start.wait()
                main.take(completed(request))

            def sweep(start: threading.Barrier = start) -> None:
                start.wait()
                run_inline(other.app)

            for done in [pool.submit(answer), pool.submit(sweep)]:
                done.result(60)
            view = main.submissions.get(request["submissionId"], owner=None)
            ends = ends_of(main, request["submissionId"])

            assert ends == (["completed"] if view.status == "COMPLETED" else ["expired"])
            assert view.is_late == (view.status == "FAILED")


def test_a_sweeper_and_a_callback_at_once_end_a_submission_once(database_url: str):
    race(database_url, rounds=10)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_sweeper_and_a_callback_at_once_end_a_submission_once_a_thousand_times(
    database_url: str,
):
    race(database_url, rounds=1_000)


def test_three_instances_time_a_submission_out_once(database_url: str, clock: ManualClock):
    with (
        made_main(database_url, clock=clock) as one,
        made_main(database_url, clock=clock) as two,
        made_main(database_url, clock=clock) as three,
        ThreadPoolExecutor(3) as pool,
    ):
        ids = [one.requested(key=f"k{number}")["submissionId"] for number in range(4)]
        clock.advance(SLA_S + 1)
        list(pool.map(lambda main: run_inline(main.app), (one, two, three)))

        assert [ends_of(one, each) for each in ids] == [["expired"]] * 4
        assert {one.status(each) for each in ids} == {"FAILED"}
