"""What a stage that waits is answered with: its result, a failure, or that it is under way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from holdfast.classify import Rule, failure_of
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.event import Answered, AnsweredFailure, Event, ProgressNoted
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.repeats import failed_alike
from holdfast.core.values.callback import Claim
from holdfast.core.values.document import DEFAULT_LIMITS, encode
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant, from_datetime
from holdfast.engine.jobs.changes import JobChanges
from holdfast.engine.jobs.jobs import Jobs
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import (
    HoldfastError,
    InvalidValue,
    TokenRefused,
    UnavailableError,
    UsageError,
    WrongState,
)
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.events.settle import Settled, Settler
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.outbox.answer import LONGEST_NOTE, Progress
from holdfast.runtime.outbox.callbacks import (
    CallbackTokens,
    HandledBefore,
    was_handled,
    write_once,
    write_together,
)
from holdfast.secrecy import keeping_personal_data, safe_text
from holdfast.store.contract import Store
from holdfast.views.job import JobView

_SEVERAL: Final = 2
_LATE: Final = frozenset({Kind.LATE, Kind.EXPIRED})

_Make = Callable[[Job], Event]


class AnswerStanding(StrEnum):
    """What became of an answer."""

    ACCEPTED = "accepted"
    LATE = "late"
    """It came after the job's deadline or its cancel: it is kept on record and changes nothing."""
    REPEATED = "repeated"
    """It was taken before."""
    IGNORED = "ignored"
    """The stage does not wait any more, and nothing was kept."""


class AnswerReceipt(NamedTuple):
    """An answer that was received: what became of it, and the job after it."""

    standing: AnswerStanding
    job: JobView
    stage: str
    """The stage that was answered."""
    received_at: Instant


class GivenAnswer(NamedTuple):
    """An answer for `receive_answers`; its fields are the arguments of `receive_answer`."""

    token: str
    result: Any
    message_id: str | None = None
    received_at: datetime | None = None
    job: JobView | None = None


class _Awaited(NamedTuple):
    """An answer that a job waits for, as the event that it is to the job."""

    claim: Claim
    job: Job
    event: Event
    message_id: str | None
    received: Instant


class Answers:
    """Answers stages that wait, for people, webhooks and other programs."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        jobs: Jobs,
        changes: JobChanges,
        settler: Settler,
        tokens: CallbackTokens,
        pipelines: Mapping[str, Pipeline],
    ) -> None:
        self._store = store
        self._clock = clock
        self._jobs = jobs
        self._changes = changes
        self._settler = settler
        self._tokens = tokens
        self._pipelines = pipelines

    def give(
        self,
        job_id: str,
        result: Any,  # noqa: ANN401 - whatever JSON the answer is, or what stands for none
        *,
        stage: str | None = None,
        received_at: datetime | None = None,
    ) -> JobView:
        """Give a waiting stage its result. After the deadline it is kept as a late result.

        In place of a result an exception, such as `CallbackFailure`, says that what the stage waits
        for has failed, and `Progress` that it is under way. An answer that was given before changes
        nothing, so giving it twice is safe. `received_at` is when it was received, if not now: that
        is compared with the deadline.
        """
        received = self._received(received_at)
        make = self._event_maker(result, stage, received)
        settled = self._changes.settle(job_id, make)
        self._follow_up(job_id, settled, stage=stage)
        return self._jobs.view(settled.job)

    def resume(
        self,
        token: str,
        result: Any,  # noqa: ANN401 - as of `answer`
        *,
        message_id: str | None = None,
        received_at: datetime | None = None,
    ) -> JobView:
        """Answer the stage that a callback token was made for; see `answer`.

        With `message_id` the answer came as a message: its id is noted in the commit that holds
        what the answer changes, and a message of that id changes nothing from then on.
        Raises `TokenRefused` for a token that is forged, has expired, or belongs to a run of the
        job that is over.
        """
        receipt = self.receive(token, result, message_id=message_id, received_at=received_at)
        return receipt.job

    def receive(
        self,
        token: str,
        result: Any,  # noqa: ANN401 - as of `answer`
        *,
        message_id: str | None = None,
        fingerprint: str | None = None,
        received_at: datetime | None = None,
        job: JobView | None = None,
    ) -> AnswerReceipt:
        """Answer as `resume` does, and return what became of it.

        An answer without an id of its own may have a `fingerprint`, which is the same when the
        same is said again: it counts once for every time that the stage asks. Who has just
        read the token's job may give it as `job`: it is read again only if it has moved on since.
        """
        claim = self._claim(token)
        if message_id is not None:
            checked_text("answer", field="message_id", text=message_id)
        received = self._received(received_at)
        known = self._jobs.read(claim.job_id) if job is None else job.job
        if known.id != claim.job_id:
            raise UsageError(f"the token is of job {claim.job_id}, and the job given is {known.id}")
        note = message_id or (fingerprint and _note_of(known, fingerprint, result))
        has_expired = claim.expires_at is not None and received > claim.expires_at
        waits = not has_expired and _waits_for(known, claim)
        # While the stage waits for it, the write finds out whether it was handled before.
        if note and not waits and was_handled(self._store(), note):
            known = self._jobs.read(claim.job_id) if job is not None else known
            return self._receipt(AnswerStanding.REPEATED, known, claim, received)
        if has_expired:
            raise TokenRefused(reason="it has expired")
        make = self._of_run(claim, self._event_maker(result, claim.stage, received))
        write: Callable[[Decision], bool] | None = None
        if note:
            write = partial(write_once, message_id=note, store=self._store(), clock=self._clock)
        try:
            settled = self._changes.settle(
                claim.job_id, make, write=write, known=known if waits else None
            )
        except HandledBefore:
            after = self._jobs.read(claim.job_id)
            return self._receipt(AnswerStanding.REPEATED, after, claim, received)
        self._follow_up(claim.job_id, settled, stage=claim.stage)
        return self._receipt(_standing_of(settled), settled.job, claim, received)

    def receive_many(self, answers: Sequence[GivenAnswer]) -> list[AnswerReceipt | HoldfastError]:
        """Receive answers as `receive_answer` does each; return what became of it, or its error.

        Those that jobs wait for are read and written together, one for each job; the others, and
        all of them where something is in the way of that, are received one after the other.
        """
        together = self._received_together(answers)
        settled = {receipt.job.id for receipt in together.values()}
        return [
            together[number] if number in together else self._received_alone(answer, settled)
            for number, answer in enumerate(answers)
        ]

    def _received_together(self, answers: Sequence[GivenAnswer]) -> dict[int, AnswerReceipt]:
        """Give jobs the answers that they wait for in one write; return the receipts by place."""
        awaited = self._awaited(answers)
        if len(awaited) < _SEVERAL:
            return {}
        write = partial(
            write_together,
            message_ids=[each.message_id for each in awaited.values() if each.message_id],
            store=self._store(),
            clock=self._clock,
        )
        pairs = [(each.job, each.event) for each in awaited.values()]
        settled = self._settler.settle_together(pairs, now=self._clock.now(), write=write)
        if any(each.job.state is JobState.QUEUED for each in settled.values()):
            self._store().announce_due()
        views = {
            view.id: view for view in self._jobs.views([each.job for each in settled.values()])
        }
        return {
            place: AnswerReceipt(
                _standing_of(settled[each.job.id]),
                views[each.job.id],
                each.claim.stage,
                each.received,
            )
            for place, each in awaited.items()
            if each.job.id in settled
        }

    def _awaited(self, answers: Sequence[GivenAnswer]) -> dict[int, _Awaited]:
        """Return by place the answers that jobs wait for, the first one for each job."""
        claims = {place: self._tokens.read(each.token) for place, each in enumerate(answers)}
        unread = {
            JobId(claim.job_id)
            for place, claim in claims.items()
            if claim is not None and answers[place].job is None
        }
        known = self._store().get(unread) if unread else {}
        known |= {JobId(each.job.id): each.job.job for each in answers if each.job is not None}
        awaited: dict[JobId, tuple[int, _Awaited]] = {}
        for place, claim in claims.items():
            job = None if claim is None else known.get(JobId(claim.job_id))
            if claim is None or job is None or job.id in awaited or not _waits_for(job, claim):
                continue
            with suppress(HoldfastError):  # what is wrong with it is found out alone
                awaited[job.id] = place, self._awaited_by(job, claim, answers[place])
        return dict(awaited.values())

    def _awaited_by(self, job: Job, claim: Claim, answer: GivenAnswer) -> _Awaited:
        received = self._received(answer.received_at)
        if claim.expires_at is not None and received > claim.expires_at:
            raise TokenRefused(reason="it has expired")
        if answer.message_id is not None:
            checked_text("answer", field="message_id", text=answer.message_id)
        event = self._event_maker(answer.result, claim.stage, received)(job)
        return _Awaited(claim, job, event, answer.message_id, received)

    def _received_alone(
        self, answer: GivenAnswer, settled: Collection[str]
    ) -> AnswerReceipt | HoldfastError:
        job = None if answer.job is None or answer.job.id in settled else answer.job
        try:
            return self.receive(
                answer.token,
                answer.result,
                message_id=answer.message_id,
                received_at=answer.received_at,
                job=job,
            )
        except UnavailableError:
            raise
        except HoldfastError as error:
            return error

    def check_token(self, token: str) -> None:
        """Raise `TokenRefused` unless a callback token was issued for this database.

        Whether it still serves is found out when it is used.
        """
        self._claim(token)

    def _claim(self, token: str) -> Claim:
        claim = self._tokens.read(token)
        if claim is None:
            raise TokenRefused(reason="it was not issued for this database")
        return claim

    def _received(self, received_at: datetime | None) -> Instant:
        now = self._clock.now()
        if received_at is None:
            return now
        if received_at.tzinfo is None:
            limit = "a time with its zone, such as one in UTC"
            raise InvalidValue("answer", field="received_at", value=received_at, limit=limit)
        return min(from_datetime(received_at), now)

    def _event_maker(self, answer: object, stage: str | None, received: Instant) -> _Make:
        """Return what makes the event of an answer for the job that it meets."""
        if isinstance(answer, Progress):
            note = safe_text(answer.note, LONGEST_NOTE)
            return lambda job: ProgressNoted(stage or job.stage, note, answer.percent, received)
        if isinstance(answer, BaseException):
            return lambda job: self._failure(job, answer, stage or job.stage, received)
        text = encode(answer, what="answer", limits=DEFAULT_LIMITS)
        return lambda job: Answered(stage or job.stage, text, received)

    def _failure(self, job: Job, error: BaseException, stage: str, received: Instant) -> Event:
        """Return the event of a failure, classified by the rules of the stage where it is known."""
        pipeline = self._pipelines.get(job.pipeline)
        with keeping_personal_data(pipeline is not None and pipeline.keeps_personal_data):
            failure = failure_of(error, self._rules_of(job.pipeline, stage), now=received)
        if failure is None:
            raise UsageError(
                f"{type(error).__name__} is no failure that a stage can be answered with; "
                "give a CallbackFailure"
            )
        alike: int | None = None
        if failure.attempts is not None:
            past = [item.entry for item in self._store().ledger(job.id)]
            alike = failed_alike(failure, past)
        return AnsweredFailure(stage, failure, alike, received)

    def _rules_of(self, pipeline: str, stage: str) -> Sequence[Rule]:
        known = self._pipelines.get(pipeline)
        stages = () if known is None else known.bound().stages
        return next((bound.rules for bound in stages if bound.name == stage), ())

    def _of_run(self, claim: Claim, make: _Make) -> _Make:
        def checked(job: Job) -> Event:
            if job.run != claim.run:
                raise TokenRefused(reason="the job has started over since it was issued")
            return make(job)

        return checked

    def _follow_up(self, job_id: str, settled: Settled, *, stage: str | None) -> None:
        """Wake workers for what has become due; raise where the stage has yet to ask."""
        if settled.ignored is None:
            if settled.job.state is JobState.QUEUED:
                self._store().announce_due()
        elif settled.job.state is JobState.QUEUED and stage in (None, settled.job.stage):
            raise WrongState(job_id, state=settled.job.state, action="answer", allowed=("waiting",))

    def _receipt(
        self, standing: AnswerStanding, job: Job, claim: Claim, received: Instant
    ) -> AnswerReceipt:
        return AnswerReceipt(standing, self._jobs.view(job), claim.stage, received)


def _standing_of(settled: Settled) -> AnswerStanding:
    if settled.kind is None:
        return AnswerStanding.IGNORED
    return AnswerStanding.LATE if settled.kind in _LATE else AnswerStanding.ACCEPTED


def _waits_for(job: Job, claim: Claim) -> bool:
    """Return whether a job waits for the answer that a token is for."""
    return job.state is JobState.WAITING and job.run == claim.run and job.stage == claim.stage


def _note_of(job: Job, fingerprint: str, answer: object) -> str:
    """Return what an answer without an id is known by.

    A result ends the stage until a person sends the job back. A failure has it ask again, and the
    same may be true of the next attempt.
    """
    asked = f"{fingerprint}:{job.retries}"
    return f"{asked}:{job.attempt}" if isinstance(answer, BaseException) else asked
