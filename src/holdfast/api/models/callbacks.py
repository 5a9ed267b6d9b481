"""What a waiting stage is answered with over HTTP, and what is said about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, field_validator

from holdfast.api.models.values.acting import Request
from holdfast.api.models.values.moment import Moment, told
from holdfast.classify import CallbackFailure
from holdfast.core.job.job import JobState
from holdfast.core.values.failure import MAX_RETRY_AFTER_US
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, to_rfc3339
from holdfast.engine.jobs.answers import AnswerReceipt, AnswerStanding
from holdfast.errors import InvalidValue
from holdfast.runtime.outbox.answer import LONGEST_NOTE, Progress


class CallbackError(Request):
    """Why what the stage waits for has failed."""

    error_class: str
    """An UPPER_SNAKE name, such as RATE_LIMITED, or one of your own."""
    message: str = ""
    retryable: bool | None = None
    """Whether asking again may help; left out, it follows from the class."""
    retry_after: Annotated[float | None, Field(ge=0, le=MAX_RETRY_AFTER_US / SECOND_US)] = None
    """In how many seconds, at the earliest."""

    @field_validator("error_class")
    @classmethod
    def _is_one_to_answer_with(cls, error_class: str) -> str:
        try:
            return CallbackFailure(error_class).error_class
        except InvalidValue as flaw:
            raise ValueError(f"must be {flaw.limit}") from flaw


class ResultAnswer(Request):
    """What the stage waits for is done."""

    outcome: Literal["result"]
    result: Any

    def answer(self) -> Any:  # noqa: ANN401 - any JSON
        """Return what the engine takes."""
        return self.result


class FailureAnswer(Request):
    """What the stage waits for has failed."""

    outcome: Literal["failure"]
    error: CallbackError

    def answer(self) -> CallbackFailure:
        """Return what the engine takes."""
        error = self.error
        return CallbackFailure(
            error.error_class,
            error.message,
            retryable=error.retryable,
            retry_after=error.retry_after,
        )


class ProgressAnswer(Request):
    """What the stage waits for is under way."""

    outcome: Literal["progress"]
    note: Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE)]
    percent: Annotated[int | None, Field(ge=0, le=100)] = None

    def answer(self) -> Progress:
        """Return what the engine takes."""
        return Progress(self.note, self.percent)


def _outcome_of(body: Any) -> str:  # noqa: ANN401 - whatever was sent
    found = body.get("outcome") if isinstance(body, dict) else getattr(body, "outcome", None)
    return f"({found})"


# The branches have names in parentheses, which no place of a document has.
CallbackAnswer = Annotated[
    Annotated[ResultAnswer, Tag("(result)")]
    | Annotated[FailureAnswer, Tag("(failure)")]
    | Annotated[ProgressAnswer, Tag("(progress)")],
    Discriminator(
        _outcome_of,
        custom_error_type="outcome_unknown",
        custom_error_message="needs an outcome: result, failure or progress",
    ),
]


class CallbackReceipt(BaseModel):
    """What became of an answer."""

    standing: AnswerStanding
    """`accepted`; `late`: kept on record after the job's deadline or cancel, and of no effect;
    `repeated`: it was taken before."""
    job_id: str
    stage: str
    """The stage that was answered."""
    state: JobState
    """How the job stands after it."""
    received_at: Moment
    """The time that was compared with the deadline."""
    waits_until: Moment | None
    """Until when the stage waits, where it still does and not forever."""

    @classmethod
    def of(cls, receipt: AnswerReceipt) -> CallbackReceipt:
        """Return a receipt as the API shows it."""
        job = receipt.job.job
        waits = job.state is JobState.WAITING and job.stage == receipt.stage
        return cls(
            standing=receipt.standing,
            job_id=job.id,
            stage=receipt.stage,
            state=job.state,
            received_at=to_rfc3339(receipt.received_at),
            waits_until=told(job.run_at) if waits and job.run_at < FAR_FUTURE else None,
        )
