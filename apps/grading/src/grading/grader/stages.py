"""What the stages of a grading do; `pipelines` says in which order and on which terms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from grading.audio.records import Decoded
from grading.calls import RawAnswer
from grading.failures import GradingFailure
from grading.grader.journal import COST_LIMIT, MAX_CALLS, Journal, Known
from grading.grader.rows import begin_answering, read_request
from grading.grader.tools import SpeechTools, TextTools, Tools
from grading.grader.work_files import KEPT_S
from grading.llm import AnswerRefused, AssessTask, MalformedAnswer
from grading.messages.contract import CALLBACK, GradingRequest
from grading.messages.outgoing import (
    completed_callback,
    event_id,
    progress_callback,
    token_mark,
)
from grading.questions import minimum_words
from grading.result import Cost, Result
from grading.scoring.evidence import Evidence
from grading.speech import MalformedTranscript, Segment, SpeechFacts, Transcript
from grading.states import FailureReason, Skill, Step
from grading.tables.times import day_start, from_us
from holdfast import Holdfast, JobContext, RetryLater
from holdfast.transactions import Reading, Transaction

ASSESS: Final = "assess_"
SHARES: Final = {
    Step.TRANSCRIBING: 0.2,
    Step.ANALYZING: 0.4,
    Step.SCORING: 0.9,
}
"""How much is done when a step begins."""
_WORDS: Final = {
    Step.TRANSCRIBING: "the recording is transcribed",
    Step.ANALYZING: "the answer is assessed",
    Step.SCORING: "the scores are computed",
}
COST_PAUSE_S: Final = 300.0


class Stages:
    """The work of one grader."""

    def __init__(self, app: Callable[[], Holdfast], tools: Tools) -> None:
        self._app = app
        self._tools = tools
        self.journal = Journal(app)

    @property
    def _text(self) -> TextTools:
        return self._tools.text

    @property
    def _speech(self) -> SpeechTools:
        if self._tools.speech is None:
            raise GradingFailure(FailureReason.INTERNAL, "this grader has no recogniser")
        return self._tools.speech

    def decode(self, job: JobContext) -> dict[str, Any]:
        """Fetch the recording and decode it, and say that it is transcribed next."""
        now_s = from_us(self._app().clock.now()).timestamp()
        self._speech.work.remove_abandoned(now_s - KEPT_S)
        decoded = self._decoded(job)
        self._say(job, Step.TRANSCRIBING)
        return decoded.to_document()

    def _decoded(self, job: JobContext) -> Decoded:
        """Return the decoded recording; whichever machine runs the stage makes its own file."""
        tools, payload = self._speech, _request(job).speaking
        folder = tools.work.folder_of(job.id)
        source = tools.stored(payload.audioSha256)
        if source is None:
            source = folder / "fetched"
            if not source.exists():
                tools.fetch(payload.audioUrl, payload.audioSha256, source)
        return tools.decode(source, folder)

    def transcribe(self, job: JobContext) -> dict[str, Any]:
        """Have the recording transcribed by one call, and measure how it was spoken."""
        decoded = Decoded.from_document(job.results["decode"])
        if not Path(decoded.path).exists():
            decoded = self._decoded(job)
        tools = self._speech
        if decoded.is_silent:
            transcript = Transcript("", [], tools.transcriber.name)
        else:
            raw = self._one_answer(
                job,
                is_paid=tools.is_paid,
                make=lambda token: tools.transcriber.transcribe(
                    decoded.path,
                    token=token,
                    timeout_s=tools.timeout_s,
                    headers=job.trace_headers,
                ),
            )
            try:
                transcript = Transcript.from_raw(raw)
            except MalformedTranscript:
                self._give_up(job, is_paid=tools.is_paid)
                raise
        facts = tools.facts(decoded, transcript)
        self._say(job, Step.ANALYZING)
        return {
            "text": transcript.text,
            "segments": [list(segment) for segment in transcript.segments],
            "provider": transcript.provider,
            "facts": facts.to_document(),
        }

    def _one_answer(
        self, job: JobContext, *, is_paid: bool, make: Callable[[str], RawAnswer]
    ) -> RawAnswer:
        """Return the answer to the only call of a stage; a paid one is made once."""
        if not is_paid:
            return make(job.idempotency_token)
        known = self.journal.read(job)
        found = known.answers.get(known.first)
        if found is not None:
            return found
        self._check_cost()
        return self.journal.call(job, number=known.first, make=make)

    def assess(self, job: JobContext, *, is_first: bool, is_last: bool) -> dict[str, Any]:
        """Have the answer assessed by one call, with at most two repairs."""
        request = _request(job)
        task = self._task(job, request)
        tells_begin = is_first and request.skill is Skill.WRITING and job.attempt == 1
        evidence = None
        if task.text.strip():
            evidence = self._evidence(job, task, begins=Step.ANALYZING if tells_begin else None)
        if is_last:
            self._say(job, Step.SCORING)
        document = None if evidence is None else evidence.model_dump(mode="json")
        return {"evidence": document, "grader": self._text.assessor.name}

    def _task(self, job: JobContext, request: GradingRequest) -> AssessTask:
        payload = request.payload
        writing = request.skill is Skill.WRITING
        number = int(payload["taskNumber" if writing else "partNumber"])
        text = payload["text"] if writing else job.results["transcribe"]["text"]
        hints = payload.get("keywords")
        least = payload.get("minimumWords")
        return AssessTask(
            skill=request.skill,
            text=text,
            prompt=payload["prompt"],
            requirements=tuple(map(str, payload.get("requirements") or ())),
            number=number,
            minimum_words=(
                least if isinstance(least, int) else minimum_words(request.skill, number)
            ),
            keywords=tuple(map(str, hints)) if isinstance(hints, list) else (),
        )

    def _evidence(self, job: JobContext, task: AssessTask, *, begins: Step | None) -> Evidence:
        """Return what was found; every answer that was paid for is looked at before another.

        `begins` is the step that the first paid call is said to begin.
        """
        tools = self._text
        known = self.journal.read(job) if tools.is_paid else Known(0, {})
        number, why = known.first, None
        for _ in range(MAX_CALLS):
            raw = known.answers.get(number)
            if raw is None:
                repaired = task._replace(repair=why)
                raw = self._assessed(job, repaired, number=number, begins=begins)
                begins = None
            try:
                return tools.evidence_of(raw)
            except MalformedAnswer as error:
                why = error.why
                number += 1
            except AnswerRefused:
                # An operator who sends it back wants another answer, not this one again.
                self._give_up(job, is_paid=tools.is_paid)
                raise
        self._give_up(job, is_paid=tools.is_paid)
        raise GradingFailure(
            FailureReason.PROVIDER_ERROR, f"{MAX_CALLS} answers in a row did not fit: {why}"
        )

    def _give_up(self, job: JobContext, *, is_paid: bool) -> None:
        if is_paid:
            self.journal.give_up(job)

    def _assessed(
        self, job: JobContext, task: AssessTask, *, number: int, begins: Step | None
    ) -> RawAnswer:
        tools = self._text

        def make(token: str) -> RawAnswer:
            return tools.assessor.assess(
                task, token=token, timeout_s=tools.timeout_s, headers=job.trace_headers
            )

        def notice(tx: Transaction) -> None:
            if begins is not None:
                self._say_now(tx, job, begins)

        if not tools.is_paid:
            return make(job.idempotency_token)
        self._check_cost()
        return self.journal.call(job, number=number, make=make, also=notice)

    def _check_cost(self) -> None:
        """Put the request off while the paid calls of this day have cost as much as they may."""
        limit = self._text.max_cost_usd_per_day
        if limit <= 0 or self.journal.spent_today_usd() < limit:
            return
        now = from_us(self._app().clock.now())
        left_s = (day_start(now) + timedelta(days=1) - now).total_seconds()
        raise RetryLater(after=min(left_s, COST_PAUSE_S), reason=COST_LIMIT)

    def score(self, job: JobContext) -> dict[str, Any]:
        """Compute the result from the evidence, and publish it in the commit that ends the job.

        It goes to the newest right to answer; see to it that the intake knows before that is read.
        """
        with self._app().transaction(one_statement=True) as tx:
            row = begin_answering(tx, job.key or "")
            now = tx.now
        if row is None:
            raise GradingFailure(FailureReason.INTERNAL, "the request is not known any more")
        usage = self.journal.usage_of(job.id)
        result = self._scored(job, cost=Cost.model_validate(usage), now=now)
        document = result.model_dump(mode="json")
        callback = completed_callback(
            row.addressee,
            event=event_id(job.idempotency_token, token_mark(row.callback_token)),
            result=document,
            attempts_made=job.attempt,
            at=now,
        )
        job.publish(CALLBACK, callback, aggregate_id=row.submission_id)
        if "decode" in job.results:
            self._speech.work.remove(job.id)
        return {"result": document, "attemptsMade": job.attempt}

    def _scored(self, job: JobContext, *, cost: Cost, now: datetime) -> Result:
        request = _request(job)
        task = self._task(job, request)
        found = [value for name, value in job.results.items() if name.startswith(ASSESS)]
        evidences = [
            Evidence.model_validate(each["evidence"]) for each in found if each["evidence"]
        ]
        grader = found[-1]["grader"] if found else self._text.assessor.name
        common: dict[str, Any] = {"grader": grader, "graded_at": now, "cost": cost}
        if request.skill is Skill.WRITING:
            return self._text.score_writing(evidences, text=task.text, question=task, **common)
        heard = job.results["transcribe"]
        segments = [Segment(*segment) for segment in heard["segments"]]
        return self._text.score_speaking(
            evidences,
            transcript=Transcript(heard["text"], segments, heard["provider"]),
            speech=SpeechFacts.from_document(heard["facts"]),
            audio_flags=job.results["decode"]["flags"],
            task=task,
            **common,
        )

    def _say(self, job: JobContext, step: Step) -> None:
        """Publish which step is next, in the commit that ends this stage."""
        with self._app().reading() as db:
            notice = self._notice(db, job, step)
        if notice is not None:
            job.publish(CALLBACK, notice, aggregate_id=notice["submissionId"])

    def _say_now(self, tx: Transaction, job: JobContext, step: Step) -> None:
        """Publish which step has begun."""
        notice = self._notice(tx, job, step)
        if notice is not None:
            self._app().publish(
                CALLBACK,
                notice,
                aggregate_id=notice["submissionId"],
                message_id=notice["eventId"],
                connection=tx.connection,
            )

    def _notice(self, db: Reading, job: JobContext, step: Step) -> dict[str, Any] | None:
        row = read_request(db, job.key or "")
        if row is None:
            return None
        return progress_callback(
            row.addressee,
            event=event_id(job.idempotency_token, step.value, token_mark(row.callback_token)),
            step=step,
            progress=SHARES[step],
            message=_WORDS[step],
            at=db.now,
        )


def _request(job: JobContext) -> GradingRequest:
    return GradingRequest.model_validate(job.payload)
