from pathlib import Path

import pytest

from apps.grading.tests.running import embedded, wait_for
from apps.grading.tests.sides import ScriptedAssessor, scripted_tools


def test_an_essay_is_graded_in_one_process_without_a_broker(database_url: str, tmp_path: Path):
    with embedded(database_url, tmp_path) as grading:
        submission_id = grading.submit()
        view = grading.ended(submission_id)
        history = [each.event for each in grading.submissions.history(submission_id, owner="lan")]

    assert view.status == "COMPLETED"
    assert view.result["grader"] == "rules"
    assert view.result["confidenceScore"] <= 70
    assert history[:3] == ["created", "requested", "taken"]
    assert history[-1] == "completed"


@pytest.mark.parametrize("mode", ["loses_confirms", "delivers_twice"])
def test_a_broker_that_repeats_costs_no_second_call(database_url: str, tmp_path: Path, mode: str):
    assessor = ScriptedAssessor()
    with embedded(database_url, tmp_path, tools=scripted_tools(assessor)) as grading:
        grading.faults.mode = mode
        submission_id = grading.submit()
        wait_for(lambda: assessor.calls, what="the first call")
        grading.faults.mode = "healthy" if mode == "loses_confirms" else mode
        view = grading.ended(submission_id)

    assert view.status == "COMPLETED"
    assert len(assessor.calls) == 1


def test_a_broker_that_is_away_blocks_no_submission_and_everything_follows(
    database_url: str, tmp_path: Path
):
    assessor = ScriptedAssessor()
    with embedded(database_url, tmp_path, tools=scripted_tools(assessor)) as grading:
        grading.faults.mode = "down"
        ids = [grading.submit(owner=f"o{number}") for number in range(3)]
        wait_for(lambda: grading.submissions.operations().outbox_pending == 3)
        before = [grading.submissions.get(each, owner=None).status for each in ids]
        grading.faults.mode = "healthy"
        views = [grading.ended(each) for each in ids]

    assert set(before) == {"PENDING"}
    assert {view.status for view in views} == {"COMPLETED"}


def test_a_callback_that_comes_too_late_does_not_turn_the_timeout(
    database_url: str, tmp_path: Path
):
    tools = scripted_tools(ScriptedAssessor())
    with embedded(database_url, tmp_path, tools=tools, sla_writing_s=1.0) as grading:
        grading.faults.delay_s = 3.0
        grading.faults.mode = "delays"
        submission_id = grading.submit()
        view = grading.ended(submission_id)
        late = wait_for(
            lambda: (found := grading.submissions.get(submission_id, owner=None)).is_late and found,
            what="the late result",
        )
        figures = grading.submissions.progress_of("lan")

    assert (view.status, view.failure_reason) == ("FAILED", "TIMEOUT")
    assert (late.status, late.failure_reason) == ("FAILED", "TIMEOUT")
    assert late.late_result["overallScore"] == 6.5
    assert figures["writing"]["count"] == 0
