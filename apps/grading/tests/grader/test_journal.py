from collections.abc import Iterator

import pytest

from apps.grading.tests.sides import (
    Pair,
    ScriptedAssessor,
    made_pair,
    read_evidence,
    score_scripted,
)
from grading.calls import RawAnswer
from grading.grader.tools import TextTools, Tools
from grading.scoring.evidence import Evidence
from holdfast.testing import ManualClock


class Crashes:
    """Fails where it is told to, once each, as a process that dies there does."""

    def __init__(self) -> None:
        self.reading = self.scoring = False

    def evidence_of(self, raw: RawAnswer) -> Evidence:
        if self.reading:
            self.reading = False
            raise ConnectionResetError("while the answer was read")
        return read_evidence(raw)

    def score(self, evidences: object, **given: object) -> object:
        if self.scoring:
            self.scoring = False
            raise ConnectionResetError("while the scores were computed")
        return score_scripted(evidences, **given)


@pytest.fixture
def crashes() -> Crashes:
    return Crashes()


@pytest.fixture
def assessor() -> ScriptedAssessor:
    return ScriptedAssessor()


@pytest.fixture
def pair(
    database_url: str, clock: ManualClock, assessor: ScriptedAssessor, crashes: Crashes
) -> Iterator[Pair]:
    tools = TextTools(
        assessor=assessor,
        evidence_of=crashes.evidence_of,
        score_writing=crashes.score,
        score_speaking=crashes.score,
    )
    with made_pair(database_url, Tools(text=tools), clock=clock) as made:
        yield made


@pytest.mark.parametrize("place", ["reading", "scoring"])
def test_an_answer_that_was_paid_for_is_not_bought_again(
    pair: Pair, assessor: ScriptedAssessor, crashes: Crashes, place: str
):
    setattr(crashes, place, True)
    made = pair.main.submit()
    pair.run(for_s=10)

    assert pair.view(made.view.submission_id).status == "COMPLETED"
    assert len(assessor.calls) == 1


def test_a_call_of_which_nothing_came_back_is_made_again_under_its_key_and_is_in_doubt_before(
    pair: Pair, assessor: ScriptedAssessor
):
    assessor.script = [ConnectionResetError("the answer was lost") for _ in range(4)]
    made = pair.main.submit()
    pair.run(for_s=20)
    pair.app.clock.advance(3_600)
    in_doubt = pair.main.submissions.operations().calls_in_doubt
    pair.main.submissions.retry(made.view.submission_id, by="operator")
    pair.run()
    after = pair.main.submissions.operations().calls_in_doubt

    assert len(set(assessor.tokens)) == 1
    assert (in_doubt, after) == (1, 0)
    assert pair.view(made.view.submission_id).status == "COMPLETED"


def test_a_call_that_was_refused_is_not_in_doubt(pair: Pair, assessor: ScriptedAssessor):
    class Refused(Exception):
        status_code = 400

    assessor.script = [Refused("no")]
    pair.main.submit()
    pair.run()
    pair.app.clock.advance(3_600)

    assert pair.main.submissions.operations().calls_in_doubt == 0
