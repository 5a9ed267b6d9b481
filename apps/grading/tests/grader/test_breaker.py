from collections.abc import Iterator
from itertools import pairwise

import pytest

from apps.grading.tests.grader.test_grading import Unavailable
from apps.grading.tests.sides import EVIDENCE, Pair, ScriptedAssessor, made_pair, scripted_tools
from grading.grader.pipelines import LLM
from holdfast import Retry
from holdfast.testing import ManualClock

ONCE = Retry(attempts=1)


@pytest.fixture
def assessor() -> ScriptedAssessor:
    return ScriptedAssessor()


@pytest.fixture
def pair(database_url: str, clock: ManualClock, assessor: ScriptedAssessor) -> Iterator[Pair]:
    tools = scripted_tools(assessor)
    settings = {"retry": ONCE, "submissions_per_minute": 0, "quota_active": 1_000}
    with made_pair(database_url, tools, clock=clock, **settings) as made:
        yield made


def gate(pair: Pair) -> str:
    return pair.app.upstreams.known()[LLM].gate.value


def graded(pair: Pair, number: int) -> list[str]:
    """Have essays graded by one worker, in the order of their submission."""
    ids = [pair.main.submit().view.submission_id for _ in range(number)]
    pair.run()
    return ids


def calls_of(assessor: ScriptedAssessor, *, failures: int) -> None:
    """Let the next twenty calls end so: good ones first, so that no window before is worse."""
    assessor.script = [EVIDENCE] * (20 - failures) + [Unavailable(500) for _ in range(failures)]


@pytest.mark.parametrize(("failures", "expected"), [(10, "closed"), (11, "open")])
def test_the_breaker_opens_strictly_above_half_of_twenty_calls(
    pair: Pair, assessor: ScriptedAssessor, failures: int, expected: str
):
    calls_of(assessor, failures=failures)
    graded(pair, 20)

    assert len(assessor.calls) == 20
    assert gate(pair) == expected


def test_an_open_breaker_calls_nothing_and_says_so_once_and_three_trials_close_it(
    pair: Pair, assessor: ScriptedAssessor
):
    calls_of(assessor, failures=11)
    graded(pair, 20)
    calls = len(assessor.calls)
    waiting = graded(pair, 4)
    before = [pair.view(each) for each in waiting]
    notices = [
        each for each in pair.callbacks if each.get("error", {}).get("code") == "CIRCUIT_OPEN"
    ]
    while_open = len(assessor.calls) - calls
    pair.run(for_s=60, step_s=2)

    assert while_open == 0
    assert {(view.status, view.step) for view in before} == {("PROCESSING", "circuit_open")}
    assert sorted(each["submissionId"] for each in notices) == sorted(waiting)
    assert all(each["error"]["retryable"] for each in notices)
    assert all(29 <= each["error"]["retryAfterSeconds"] <= 33 for each in notices)
    assert {pair.view(each).status for each in waiting} == {"COMPLETED"}
    assert gate(pair) == "closed"
    after = [each for each in pair.callbacks if each.get("error", {}).get("code") == "CIRCUIT_OPEN"]
    assert len(after) == len(waiting)


def test_retry_after_is_a_floor_and_is_capped(
    database_url: str, clock: ManualClock, assessor: ScriptedAssessor
):
    assessor.script = [Unavailable(429, retry_after="7"), Unavailable(429, retry_after="4000")]
    times = []
    with made_pair(database_url, scripted_tools(assessor), clock=clock) as pair:
        made = pair.main.submit()
        for _ in range(340):
            before = len(assessor.calls)
            pair.run()
            if len(assessor.calls) > before:
                times.append(clock.now() / 1e6)
            if len(assessor.calls) == 3:
                break
            clock.advance(1)
        view = pair.view(made.view.submission_id)
    waits = [later - earlier for earlier, later in pairwise(times)]

    assert view.status == "COMPLETED"
    assert 7 <= waits[0] <= 12
    assert 295 <= waits[1] <= 306
