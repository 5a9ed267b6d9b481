import logging
from collections.abc import Iterator

import pytest

from apps.grading.tests.sides import (
    RESULT,
    Main,
    callback,
    completed,
    failed,
    made_main,
    message,
    progressed,
)
from grading.main.callbacks import Standing
from grading.messages.contract import CALLBACK
from holdfast import GiveUp
from holdfast.testing import ManualClock, run_inline

SLA_S = 1_200


@pytest.fixture
def main(database_url: str, clock: ManualClock) -> Iterator[Main]:
    with made_main(database_url, clock=clock) as made:
        yield made


def test_a_result_in_time_completes_the_submission(main: Main):
    request = main.requested()
    handled = main.take(completed(request, metadata={"attemptsMade": 2}))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert handled.standing is Standing.TAKEN
    assert (view.status, view.result["overallScore"], view.attempts_made) == ("COMPLETED", 6.5, 2)
    assert view.failure_reason is None


def test_callbacks_that_come_together_mean_what_they_mean_one_by_one(main: Main):
    first, second, third = [main.requested() for _ in range(3)]
    scoring = progressed(third, "scoring", 0.9)
    done = completed(first, metadata={"attemptsMade": 1})
    said = [
        progressed(first, "queued", 0.0),
        failed(second, "PROVIDER_ERROR"),
        scoring,
        progressed(first, "scoring", 0.9),
        done,
        progressed(third, "analyzing", 0.4),
        done,
        progressed(first, "analyzing", 0.4),
    ]
    handled = main.side.callbacks.take_many([message(CALLBACK, each) for each in said])
    views = [
        main.submissions.get(each["submissionId"], owner="lan") for each in (first, second, third)
    ]

    taken, ignored = Standing.TAKEN, Standing.IGNORED
    assert [each.standing for each in handled] == [
        *[taken] * 3,
        *(ignored, taken),
        *(ignored, Standing.REPEATED, ignored),
    ]
    assert [each.status for each in views] == ["COMPLETED", "FAILED", "PROCESSING"]
    assert (views[1].failure_reason, views[1].attempts_made) == ("PROVIDER_ERROR", 4)
    assert views[2].step == "scoring"
    history = main.submissions.history(first["submissionId"], owner=None)
    assert [entry.event for entry in history] == ["created", "requested", "taken", "completed"]
    assert main.submissions.progress_of("lan")["writing"]["count"] == 1


def test_a_callback_that_may_not_answer_spares_those_that_came_with_it(main: Main):
    request, other = main.requested(), main.requested()
    forged = completed({**other, "callbackToken": "forged"})
    together = [message(CALLBACK, each) for each in (completed(request), forged)]
    with pytest.raises(GiveUp, match="not issued here"):
        main.side.callbacks.handle_many(together)
    main.side.callbacks.handle_many(together[:1])

    assert main.status(request["submissionId"]) == "COMPLETED"
    assert main.status(other["submissionId"]) == "PENDING"


@pytest.mark.parametrize(
    ("late_us", "status", "reason"),
    [(-1_000, "COMPLETED", None), (0, "COMPLETED", None), (1_000, "FAILED", "TIMEOUT")],
)
def test_the_instant_of_a_callback_is_compared_with_the_deadline(
    main: Main, clock: ManualClock, late_us: int, status: str, reason: str | None
):
    request = main.requested()
    clock.advance(SLA_S + late_us / 1_000_000)
    main.take(completed(request))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert (view.status, view.failure_reason) == (status, reason)
    assert view.is_late == (reason is not None)


def test_a_late_result_is_kept_and_changes_neither_status_nor_figures(
    main: Main, clock: ManualClock
):
    request = main.requested()
    clock.advance(SLA_S + 1)
    run_inline(main.app)
    first = main.take(completed(request))
    main.take(completed(request, result={**RESULT, "overallScore": 8.5, "band": "C1"}))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert first.standing is Standing.LATE
    assert (view.status, view.failure_reason, view.is_late) == ("FAILED", "TIMEOUT", True)
    assert view.late_result["overallScore"] == 6.5
    assert view.result is None
    assert main.submissions.progress_of("lan")["writing"]["count"] == 0


def test_the_same_event_counts_once_and_another_result_is_logged(
    main: Main, caplog: pytest.LogCaptureFixture
):
    request = main.requested()
    event = completed(request)
    standings = [main.take(event).standing for _ in range(10)]
    same = main.take({**completed(request)}).standing
    with caplog.at_level(logging.WARNING):
        other = main.take(completed(request, result={**RESULT, "confidenceScore": 10})).standing
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert standings == [Standing.TAKEN, *[Standing.REPEATED] * 9]
    assert (same, other) == (Standing.IGNORED, Standing.IGNORED)
    assert [r.event for r in caplog.records if hasattr(r, "event")] == ["conflicting_final"]
    assert view.result["confidenceScore"] == 92
    assert main.submissions.progress_of("lan")["writing"]["count"] == 1


def test_callbacks_that_may_not_answer_are_given_up_and_change_nothing(main: Main):
    mine, other = main.requested(), main.requested(owner="minh")
    foreign = completed(mine, callbackToken=other["callbackToken"])
    forged = completed(mine, callbackToken="ab.cd")
    unknown = completed(mine, submissionId="01890000-0000-7000-8000-000000000000")
    wrong_request = completed(mine, requestId=other["requestId"])

    for refused in (foreign, forged, unknown, wrong_request):
        with pytest.raises(GiveUp) as error:
            main.take(refused)
        assert error.value.error_class == "CALLBACK_REFUSED"
    assert main.status(mine["submissionId"]) == "PENDING"
    assert main.status(other["submissionId"]) == "PENDING"


def test_a_token_of_an_earlier_attempt_is_refused(main: Main, clock: ManualClock):
    first = main.requested()
    main.take(failed(first, "PROVIDER_ERROR"))
    main.submissions.retry(first["submissionId"], by="operator")
    run_inline(main.app)
    second = main.request_of(first["submissionId"])

    with pytest.raises(GiveUp, match="earlier attempt"):
        main.take(completed(first))
    assert main.take(progressed(first, "analyzing")).standing is Standing.IGNORED
    assert (second["attempt"], second["requestId"]) == (2, first["requestId"])
    assert main.take(completed(second)).standing is Standing.TAKEN
    assert main.status(first["submissionId"]) == "COMPLETED"


@pytest.mark.parametrize(
    "flawed",
    [
        {"result": None},
        {"result": {**RESULT, "overallScore": 11}},
        {"result": {**RESULT, "overallScore": 6.3}},
        {"result": {**RESULT, "band": "C1"}},
        {"schemaVersion": 2},
        {"eventId": "no uuid"},
    ],
)
def test_what_does_not_fit_the_schema_is_given_up(main: Main, flawed: dict):
    request = main.requested()
    main.take(progressed(request, "queued"))
    with pytest.raises(GiveUp) as error:
        main.take(completed(request, **flawed))

    assert error.value.error_class == "INVALID_SCHEMA"
    assert main.status(request["submissionId"]) == "PROCESSING"


def test_an_error_that_is_final_fails_the_submission_for_its_reason(main: Main):
    request = main.requested()
    main.take(failed(request, "AUDIO_DECODE_ERROR"))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert (view.status, view.failure_reason) == ("FAILED", "AUDIO_DECODE_ERROR")
    assert view.attempts_made == 4
    assert "decoded" in view.last_error


@pytest.mark.parametrize("code", ["WORKER_LOST", "TIMEOUT", "SOMETHING_ELSE"])
def test_reasons_that_the_engine_uses_itself_are_kept_apart(main: Main, code: str):
    request = main.requested()
    main.take(failed(request, code))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert view.failure_reason == ("INTERNAL" if code == "SOMETHING_ELSE" else code)


def test_an_open_circuit_is_a_notice_and_the_submission_goes_on(main: Main):
    request = main.requested()
    main.take(progressed(request, "analyzing", 0.4))
    main.take(failed(request, "CIRCUIT_OPEN", retryable=True))
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert (view.status, view.step, view.progress) == ("PROCESSING", "circuit_open", 0.4)


def test_progress_never_goes_back_and_nothing_follows_an_end(main: Main, clock: ManualClock):
    request = main.requested()
    steps = []
    for step, share in (("queued", 0.0), ("scoring", 0.9), ("analyzing", 0.4), ("retrying", 0.0)):
        clock.advance(1)
        main.take(progressed(request, step, share))
        view = main.submissions.get(request["submissionId"], owner="lan")
        steps.append((view.step, view.progress))
    main.take(completed(request))
    after_end = main.take(progressed(request, "scoring", 0.9))

    assert steps == [("queued", 0.0), ("scoring", 0.9), ("scoring", 0.9), ("retrying", 0.9)]
    assert after_end.standing is Standing.IGNORED
    assert main.status(request["submissionId"]) == "COMPLETED"


def test_a_grader_that_sends_no_progress_completes_what_is_pending(main: Main):
    request = main.requested()
    assert main.status(request["submissionId"]) == "PENDING"
    main.take(completed(request))

    assert main.status(request["submissionId"]) == "COMPLETED"


def test_a_status_that_is_not_known_is_refused(main: Main):
    request = main.requested()
    with pytest.raises(GiveUp):
        main.take(callback(request, "done"))
