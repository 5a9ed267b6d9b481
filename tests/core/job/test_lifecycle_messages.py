"""Messages go out with a result that is kept, and with no other."""

import pytest

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.event import Answered, Done, Suspended
from holdfast.core.job.job import JobState
from holdfast.core.job.lifecycle import decide
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import NewMessage
from tests.core.job.lifecycle_table import NOW, PLAN, a_job

MESSAGES = (NewMessage("m-1", "a", "note", "1"), NewMessage("m-2", "a", "note", "2"))
FIRST, LAST = PLAN.stages[0].name, PLAN.stages[-1].name


def decided(event, **changes) -> Decision:
    state = changes.pop("state", JobState.PROCESSING)
    decision = decide(a_job(state, **changes), event, PLAN, NOW, 0.5)
    assert isinstance(decision, Decision)
    return decision


@pytest.mark.parametrize(
    ("event", "changes", "kind"),
    [
        (Done("1", None, MESSAGES), {"stage": FIRST}, Kind.ADVANCED),
        (Done("1", Instant(NOW + 9), MESSAGES), {"stage": FIRST}, Kind.ADVANCED),
        (Done("1", None, MESSAGES), {"stage": LAST}, Kind.COMPLETED),
        (Suspended(None, MESSAGES), {"stage": FIRST}, Kind.SUSPENDED),
    ],
)
def test_a_result_that_is_kept_takes_its_messages_along(event, changes, kind):
    decision = decided(event, **changes)

    assert (decision.entry.kind, decision.messages) == (kind, MESSAGES)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"deadline_at": Instant(NOW - 1)}, Kind.EXPIRED),
        ({"state": JobState.CANCELLED}, Kind.LATE),
        ({"state": JobState.FAILED, "error_class": "TIMEOUT"}, Kind.LATE),
    ],
)
def test_a_result_that_came_too_late_publishes_nothing(changes, kind):
    decision = decided(Done("1", None, MESSAGES), **changes)

    assert (decision.entry.kind, decision.messages) == (kind, ())


def test_an_answer_publishes_nothing_of_its_own():
    waiting = decided(Answered(FIRST, "1"), state=JobState.WAITING, stage=FIRST)

    assert waiting.messages == ()
