"""What becomes of a job's dead letter when the job fails, is sent back, or was a mistake."""

from holdfast.core.dead_letter.dead_letter import Cause, LetterState
from holdfast.core.dead_letter.lifecycle import letter_after
from holdfast.core.job.decision import Decision, Tries
from holdfast.core.job.event import CancelRequested, Failed, RetryRequested
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import SECOND_US, Instant
from tests.core.job.lifecycle_table import NOW, PLAN, a_job

LASTING = Failure(
    error_class="INVALID", message="no amount", category=Category.PERMANENT, retryable=False
)
MISTAKE = LASTING._replace(user_error=True)


class Course:
    """A job with its letter and its history, as decisions make them."""

    def __init__(self) -> None:
        self.job: Job = a_job(JobState.PROCESSING)
        self.letter = None
        self.past = []

    def meet(self, event, *, at_s: int, tries: Tries | None = None) -> None:
        decision = decide(self.job, event, PLAN, after(at_s), 0.5)
        assert isinstance(decision, Decision)
        decision = decision._replace(tries=tries)
        self.letter = letter_after(self.letter, self.job, decision, self.past)
        self.past.append(decision.entry)
        self.job = evolve(self.job, decision)

    def run_again(self) -> None:
        self.job = self.job._replace(state=JobState.PROCESSING, attempt=1)


def after(seconds: int) -> Instant:
    return Instant(NOW + seconds * SECOND_US)


def failed_twice() -> Course:
    course = Course()
    course.meet(Failed(LASTING), at_s=1)
    course.letter = course.letter._replace(
        state=LetterState.REMEDIATED, revision=2, cause=Cause.DATA, evidence="mended", note="seen"
    )
    course.meet(RetryRequested("ada"), at_s=2)
    course.run_again()
    course.meet(Failed(LASTING), at_s=3)
    return course


def test_a_failure_for_good_opens_a_letter():
    course = Course()
    course.meet(Failed(LASTING), at_s=1)

    letter = course.letter
    assert (letter.state, letter.revision, letter.deaths) == (LetterState.OPEN, 0, 1)
    assert (letter.error_class, letter.previous_class) == ("INVALID", None)
    assert (letter.first_failure_at, letter.last_failure_at) == (after(1), after(1))


def test_a_job_that_fails_again_opens_its_letter_again_and_forgets_what_people_said():
    letter = failed_twice().letter

    assert (letter.state, letter.revision, letter.deaths) == (LetterState.OPEN, 4, 2)
    assert (letter.previous_class, letter.first_failure_at) == ("INVALID", after(3))
    assert (letter.cause, letter.evidence, letter.note) == (None, None, None)
    assert (letter.replayed_at, letter.resolved_at) == (None, None)


def test_a_job_that_is_sent_back_has_its_letter_replayed():
    course = failed_twice()
    course.meet(RetryRequested("ada"), at_s=4)

    assert (course.letter.state, course.letter.revision) == (LetterState.REPLAYED, 5)
    assert course.letter.replayed_at == course.letter.updated_at == after(4)


def test_a_mistake_of_the_sender_closes_the_letter_and_opens_none():
    mistaken, course = Course(), failed_twice()
    mistaken.meet(Failed(MISTAKE), at_s=1)
    course.meet(RetryRequested("ada"), at_s=4)
    course.run_again()
    course.meet(Failed(MISTAKE), at_s=5)

    assert mistaken.letter is None
    assert (course.letter.state, course.letter.revision) == (LetterState.RESOLVED, 6)
    assert course.letter.note == "its sender's own mistake: INVALID"


def test_nothing_else_moves_a_letter():
    course = failed_twice()
    course.meet(RetryRequested("ada"), at_s=4)
    before = course.letter
    course.meet(CancelRequested("ada"), at_s=5)

    assert course.letter == before


def test_sends_of_deliveries_count_in_place_of_attempts():
    course = Course()
    course.meet(Failed(LASTING), at_s=9, tries=Tries(5, after(3)))

    assert (course.letter.attempts, course.letter.first_failure_at) == (5, after(3))
