from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from apps.grading.tests.sides import ESSAY, Main, completed, failed, made_main, progressed
from grading.main.submissions import Wanted
from grading.messages.validation import read_request
from grading.refusals import (
    AudioRefused,
    Conflict,
    NotYours,
    QuotaReached,
    RateLimited,
    ValidationRefused,
    WrongState,
)
from holdfast.testing import ManualClock, run_inline


@pytest.fixture
def main(database_url: str, clock: ManualClock) -> Iterator[Main]:
    with made_main(database_url, clock=clock) as made:
        yield made


def test_the_deadline_is_stored_as_the_creation_and_the_agreed_time(
    database_url: str, clock: ManualClock
):
    with made_main(database_url, clock=clock, sla_writing_s=40.0) as main:
        made = main.submit()
    with made_main(database_url, clock=clock, sla_writing_s=90.0) as later:
        view = later.submissions.get(made.view.submission_id, owner="lan")

    assert (view.deadline_at - view.created_at).total_seconds() == 40
    assert view.status == "PENDING"


def test_a_request_says_everything_that_a_grader_needs(main: Main):
    request = main.requested(key="one")
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert request["schemaVersion"] == 1
    assert request["requestId"] == view.request_id
    assert (request["userId"], request["skill"], request["attempt"]) == ("lan", "writing", 1)
    assert request["payload"]["text"] == ESSAY
    assert request["payload"]["taskNumber"] == 2
    assert request["deadlineAt"] == "2026-01-01T00:20:00.000Z"


def test_a_request_about_nobodys_submission_fits_the_contract(main: Main):
    assert read_request(main.requested(owner="")).userId == "-"


def test_a_key_names_one_submission_of_its_owner(main: Main):
    first = main.submit(key="k")
    again = main.submit(key="k")
    foreign = main.submit(key="k", owner="minh")

    assert (first.created, again.created, foreign.created) == (True, False, True)
    assert first.view.submission_id == again.view.submission_id
    assert foreign.view.request_id != first.view.request_id
    with pytest.raises(Conflict):
        main.submit(key="k", text="Something else altogether.")


def submitted_at_once(main: Main, rounds: int) -> set[tuple[int, int]]:
    """Submit one key eight times at once; return how many there are and were made, by round."""
    seen = set()
    with ThreadPoolExecutor(8) as pool:
        for number in range(rounds):
            submit = partial(main.submit, owner=f"owner-{number}", key="k")
            made = [each.result(60) for each in [pool.submit(submit) for _ in range(8)]]
            ids = {each.view.submission_id for each in made}
            seen.add((len(ids), sum(each.created for each in made)))
    return seen


def test_many_submits_of_one_key_at_once_make_one_submission(main: Main):
    assert submitted_at_once(main, 3) == {(1, 1)}


@pytest.mark.slow
def test_many_submits_of_one_key_at_once_make_one_submission_two_hundred_times(main: Main):
    assert submitted_at_once(main, 200) == {(1, 1)}


def test_another_owner_gets_the_same_refusal_as_for_nothing(main: Main):
    made = main.submit()
    refusals = []
    for submission_id in (made.view.submission_id, "01890000-0000-7000-8000-000000000000", "x"):
        with pytest.raises(NotYours) as error:
            main.submissions.get(submission_id, owner="minh")
        refusals.append((error.value.code, str(error.value)))

    assert len(set(refusals)) == 1
    assert refusals[0][0] == "FORBIDDEN"


@pytest.mark.parametrize(
    ("wanted", "pointers"),
    [
        (Wanted(skill="writing", question_id="w2-tourism", text="  "), ["/answer/text"]),
        (Wanted(skill="writing", question_id="w2-tourism", text="a\x00b"), ["/answer/text"]),
        (Wanted(skill="writing", question_id="w2-tourism", text="a" * 20_001), ["/answer/text"]),
        (Wanted(skill="reading", question_id="nope", text="a"), ["/skill", "/questionId"]),
        (Wanted(skill="speaking", question_id="w2-tourism", audio_url="x"), None),
    ],
)
def test_what_does_not_fit_is_refused_with_every_place(main: Main, wanted: Wanted, pointers: list):
    with pytest.raises(ValidationRefused) as error:
        main.submissions.submit(wanted, owner="lan", key=None)

    found = [flaw.pointer for flaw in error.value.flaws]
    assert found == pointers or "/questionId" in found


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/a.webm",
        "http://127.0.0.1:8000/api/audio/none",
        "http://127.0.0.1:8000@evil.example/api/audio/1",
    ],
)
def test_a_recording_of_others_is_refused(main: Main, url: str):
    wanted = Wanted(skill="speaking", question_id="s1-travel", audio_url=url, duration_s=30)
    with pytest.raises(AudioRefused):
        main.submissions.submit(wanted, owner="lan", key=None)


def test_the_minute_of_an_owner_is_limited_and_repeats_are_free(
    database_url: str, clock: ManualClock
):
    with made_main(database_url, clock=clock, submissions_per_minute=3) as main:
        for number in range(3):
            main.submit(key=f"k{number}")
        for _ in range(5):
            main.submit(key="k0")
        with pytest.raises(RateLimited) as error:
            main.submit(key="k3")
        main.submit(owner="minh")
        clock.advance(61)
        after = main.submit(key="k3")

    assert error.value.status == 429
    assert 0 < error.value.retry_after_s <= 60
    assert after.created


def test_an_owner_has_a_limited_number_under_way(database_url: str, clock: ManualClock):
    with made_main(database_url, clock=clock, quota_active=2, submissions_per_minute=0) as main:
        request = main.requested()
        main.submit()
        with pytest.raises(QuotaReached):
            main.submit()
        main.take(completed(request))
        made = main.submit()

    assert made.created


def test_the_owner_may_cancel_while_nobody_has_taken_it(main: Main):
    pending, taken = main.requested(), main.requested()
    main.take(progressed(taken, "queued"))
    view = main.submissions.cancel(pending["submissionId"], owner="lan", by="lan")

    assert (view.status, view.failure_reason) == ("FAILED", "CANCELLED")
    with pytest.raises(WrongState):
        main.submissions.cancel(taken["submissionId"], owner="lan", by="lan")
    forced = main.submissions.cancel(taken["submissionId"], owner=None, by="operator")
    assert forced.failure_reason == "CANCELLED"


def test_a_withdrawn_submission_is_final_and_says_what_to_do(main: Main):
    request = main.requested(key="k")
    main.submissions.cancel(request["submissionId"], owner="lan", by="lan")
    with pytest.raises(WrongState, match="withdrawn, and that is final; hand the answer in again"):
        main.submissions.retry(request["submissionId"], by="operator")
    again = main.submit(key="k")
    anew = main.submit(key="another")

    assert (again.created, again.view.failure_reason) == (False, "CANCELLED")
    assert (anew.created, anew.view.status) == (True, "PENDING")


def test_a_retry_starts_over_with_a_new_deadline(main: Main, clock: ManualClock):
    request = main.requested()
    clock.advance(1_201)
    run_inline(main.app)
    main.take(completed(request))
    late = main.submissions.get(request["submissionId"], owner="lan")
    again = main.submissions.retry(request["submissionId"], by="operator")

    assert late.is_late
    assert (again.status, again.attempt, again.is_late) == ("PENDING", 2, False)
    assert (again.deadline_at - late.deadline_at).total_seconds() == 1_201
    with pytest.raises(WrongState):
        main.submissions.retry(request["submissionId"], by="operator")


def test_lists_are_newest_first_by_skill_and_status(main: Main, clock: ManualClock):
    requests = []
    for number in range(5):
        clock.advance(1)
        requests.append(main.requested(key=f"k{number}"))
    main.take(completed(requests[1]))
    main.take(failed(requests[3], "PROVIDER_ERROR"))
    first = main.submissions.list(owner="lan", limit=3)
    rest = main.submissions.list(owner="lan", limit=3, cursor=first.next_cursor)
    failures = main.submissions.list(owner="lan", status=first.items[1].status)

    ids = [request["submissionId"] for request in requests]
    assert [view.submission_id for view in (*first.items, *rest.items)] == ids[::-1]
    assert [view.submission_id for view in failures.items] == [ids[3]]
    assert "answer" not in first.document()["items"][0]
    assert main.submissions.list(owner="minh").items == []


def test_figures_count_what_completed_in_time(main: Main, clock: ManualClock):
    for number in range(3):
        clock.advance(1)
        main.take(completed(main.requested(key=f"k{number}")))
    figures = main.submissions.progress_of("lan")

    assert figures["writing"] == {"count": 3, "windowAvg": 6.5, "trend": "stable"}
    assert figures["speaking"] == {"count": 0, "windowAvg": None, "trend": "insufficient_data"}


def test_the_history_reads_like_a_story(main: Main, clock: ManualClock):
    request = main.requested()
    for step in ("queued", "analyzing"):
        clock.advance(1)
        main.take(progressed(request, step))
    main.take(completed(request))
    entries = main.submissions.history(request["submissionId"], owner="lan")
    events = [entry.event for entry in entries]
    words = " ".join(entry.text for entry in entries).lower()

    assert events == ["created", "requested", "taken", "analyzing", "completed"]
    for word in ("broker", "outbox", "queue", "stored", "callback"):
        assert word not in words, "learners read it"


def test_operations_say_what_is_pending_and_when_a_grader_was_seen(main: Main):
    before = main.submissions.operations()
    request = main.requested()
    main.take(progressed(request, "queued"))
    after = main.submissions.operations().document()

    assert (before.outbox_pending, before.grader_last_seen_at) == (0, None)
    assert after["outbox"]["pending"] == 1
    assert after["grader"]["lastSeenAt"] == "2026-01-01T00:00:00.000Z"
