"""Answers that try to be more than answers, and what is said about them where others read."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from apps.grading.tests.scoring.grading_texts import HOSTILE
from apps.grading.tests.sides import (
    ESSAY,
    RESULT,
    Main,
    Pair,
    ScriptedAssessor,
    Unavailable,
    completed,
    made_main,
    made_pair,
    score_scripted,
    scripted_tools,
)
from grading.config import GradingConfig
from grading.grader.opening import open_tools
from grading.grader.tools import Tools
from grading.main.checks import check
from grading.main.submissions import Wanted
from grading.questions import packaged
from grading.refusals import ValidationRefused
from holdfast import GiveUp
from holdfast.messaging import OutboxFilter
from holdfast.testing import ManualClock, run_inline

MakePair = Callable[..., Pair]
SAID = "the landlord of my grandmother keeps seven geese"
"""What nobody but the learner and those who grade should read."""


@pytest.fixture
def make_pair(database_url: str, clock: ManualClock) -> Iterator[MakePair]:
    with ExitStack() as opened:

        def make(tools: Tools, **given: Any) -> Pair:
            return opened.enter_context(made_pair(database_url, tools, clock=clock, **given))

        yield make


def is_taken(text: str) -> bool:
    """Return whether a text is taken at all."""
    wanted = Wanted(skill="writing", question_id="w2-tourism", text=text)
    given: dict[str, Any] = {"recordings": None, "audio_hosts": (), "max_seconds": 600.0}
    try:
        check(wanted, owner="lan", questions=packaged(), **given)
    except ValidationRefused:
        return False
    return True


def test_hostile_essays_are_graded_by_the_formula(sqlite_url: str, clock: ManualClock):
    # Each alone costs seconds; the tests of scoring try all of them.
    texts = [text for text in HOSTILE if is_taken(text)][::3]
    settings = {"submissions_per_minute": 0, "quota_active": 1_000}
    with made_pair(sqlite_url, open_tools(GradingConfig()), clock=clock, **settings) as pair:
        ids = [pair.main.submit(text=text).view.submission_id for text in texts]
        pair.run()
        views = [pair.view(each) for each in ids]

    assert len(texts) > 6
    assert {view.status for view in views} == {"COMPLETED"}
    wrong = [
        text[:40]
        for text, view in zip(texts, views, strict=True)
        if not view.result["caps"] or view.result["overallScore"] > 4
    ]
    assert wrong == []
    assert pair.records == []


class Talkative(ScriptedAssessor):
    """A model that repeats what it was sent when it refuses it."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        answers = {"status": _repeating(Unavailable(400)), "plain": ValueError(SAID)}
        self.script = [answers[kind]]


def _repeating(error: Unavailable) -> Unavailable:
    error.args = (f"HTTP 400: {SAID}",)
    error.response.text = f'{{"error": {{"message": "{SAID}"}}}}'
    return error


@pytest.mark.parametrize("redacts", [False, True])
@pytest.mark.parametrize("kind", ["status", "plain"])
def test_what_a_learner_wrote_is_in_no_log_and_no_line_about_a_failure(
    make_pair: MakePair, caplog: pytest.LogCaptureFixture, kind: str, *, redacts: bool
):
    pair = make_pair(scripted_tools(Talkative(kind)), redacts_dlq=redacts)
    with caplog.at_level(logging.DEBUG):
        made = pair.main.submit(text=f"{ESSAY} {SAID}")
        pair.run(for_s=20)
    view = pair.view(made.view.submission_id)
    [record] = pair.records
    errors = [each["error"] for each in pair.callbacks if each["status"] == "error"]
    logged = [str(vars(each)) for each in caplog.records]
    history = pair.main.submissions.history(view.submission_id, owner=None)

    assert view.status == "FAILED"
    assert [each for each in logged if SAID in each] == []
    assert SAID not in record["lastError"]
    assert SAID not in str(errors)
    assert SAID not in f"{view.last_error} {history}"
    assert (SAID in str(record["originalMessage"])) is not redacts
    assert record["originalMessage"]["submissionId"] == view.submission_id
    assert record["originalMessage"]["requestId"] == view.request_id


def test_a_failure_of_the_scoring_repeats_nothing_of_the_answer(make_pair: MakePair):
    def fails(evidences: object, **given: Any) -> object:
        raise KeyError(given["text"])

    tools = scripted_tools()
    text = tools.text.__class__(
        assessor=tools.text.assessor,
        evidence_of=tools.text.evidence_of,
        score_writing=fails,
        score_speaking=score_scripted,
    )
    pair = make_pair(Tools(text=text))
    pair.main.submit(text=f"{ESSAY} {SAID}")
    pair.run(for_s=20)
    [record] = pair.records

    assert record["stage"] == "score"
    assert SAID not in record["lastError"]


@pytest.fixture
def main(database_url: str, clock: ManualClock) -> Iterator[Main]:
    with made_main(database_url, clock=clock) as made:
        yield made


def test_a_callback_about_a_submission_that_was_removed_is_refused(main: Main):
    request = main.requested()
    main.app.erase("lan", by="operator", cancel=True)

    with pytest.raises(GiveUp) as error:
        main.take(completed(request))
    assert error.value.error_class == "CALLBACK_REFUSED"


def test_a_result_that_comes_before_the_request_is_marked_as_published_counts(main: Main):
    request = main.requested()
    [message] = main.app.outbox.find(OutboxFilter(aggregate_id=request["submissionId"]))
    main.take(completed(request))
    before = message.status
    run_inline(main.app)
    view = main.submissions.get(request["submissionId"], owner="lan")

    assert (before, view.status) == ("pending", "COMPLETED")


def test_a_result_that_is_there_is_not_raised_by_another(main: Main):
    request = main.requested()
    main.take(completed(request))
    better = RESULT | {"overallScore": 10.0, "band": "C1"}
    main.take(completed(request, result=better))

    assert main.submissions.get(request["submissionId"], owner="lan").result["overallScore"] == 6.5
