"""What programs hand in: jobs, deliveries and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.classify import classify
from holdfast.core.job.job import DEFAULT_OWNER, DEFAULT_PRIORITY
from holdfast.engine.deliveries import Deliveries
from holdfast.engine.jobs.answers import AnswerVerbs
from holdfast.engine.jobs.handle import JobHandle
from holdfast.engine.outbox import Outbox
from holdfast.engine.submit.admission import Admission
from holdfast.engine.submit.submission import Named, Submit, Submitted, as_submits
from holdfast.engine.submit.submitter import Submitter
from holdfast.errors import GiveUp, UnknownPipeline
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import Span
from holdfast.runtime import tracing
from holdfast.runtime.attempts.notify import Recipient
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.events.decided import Message
from holdfast.secrecy import keeping_personal_data
from holdfast.views.delivery import DeliveryView
from holdfast.views.job import removed_job


class Intake(AnswerVerbs):
    """Submit, deliver and publish: the part of `Holdfast` that makes what there is to do."""

    announcer: Announcer
    deliveries: Deliveries
    outbox: Outbox
    _pipelines: dict[str, Pipeline]
    _submitter: Submitter

    def submit(
        self,
        pipeline: Pipeline | str,
        payload: Any = None,  # noqa: ANN401 - checked against the pipeline
        *,
        key: str | None = None,
        key_alone: bool = False,
        owner: str = DEFAULT_OWNER,
        version: int = 1,
        rerun: bool = False,
        queue: str | None = None,
        priority: int = DEFAULT_PRIORITY,
        delay: Span | None = None,
        run_at: datetime | None = None,
        deadline: Span | datetime | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> JobHandle:
        """Make a job, or find the one that the key already names; see `Submit`.

        A job that was removed since is found as well, as far as it is known: its id, state, version
        and times, with `removed_at`.
        With `connection` the job is part of the caller's own transaction on the same database:
        it exists if and only if that transaction commits.
        """
        found = self._pipeline(pipeline)
        self._open()
        with tracing.submitting(found.name, trace) as context:
            # By position, in the order of its fields: keywords cost as much again.
            submit = Submit(
                payload,
                key,
                key_alone,
                owner,
                version,
                rerun,
                queue,
                priority,
                delay,
                run_at,
                deadline,
                context,
            )
            named = self._submitter.one(found, submit, connection=connection)
        return self._handle(named, found, submit)

    def refuse(
        self,
        pipeline: Pipeline | str,
        payload: Any,  # noqa: ANN401 - as above
        because: GiveUp,
        *,
        key: str | None = None,
        key_alone: bool = False,
        owner: str = DEFAULT_OWNER,
        version: int = 1,
        rerun: bool = False,
        trace: str | None = None,
    ) -> JobHandle:
        """Keep a job that is turned away: it has failed as it comes, and none of it is run.

        Its history says why, it is counted and told of as failed, and there is no dead letter:
        nobody could do anything about it. A key means what it means to `submit`, so that a job
        which the key already names stays as it is.
        """
        found = self._pipeline(pipeline)
        self._open()
        with keeping_personal_data(found.keeps_personal_data):
            failure = classify(because, (), now=self.clock.now())
        with tracing.submitting(found.name, trace) as context:
            submit = Submit(
                payload=payload,
                key=key,
                key_alone=key_alone,
                owner=owner,
                version=version,
                rerun=rerun,
                trace=context,
            )
            named, applied = self._submitter.refused(found, submit, failure)
        if applied is not None:
            self.announcer.announce([applied])
        return self._handle(named, found, submit)

    def deliver(
        self,
        subject: str,
        *,
        recipients: Sequence[str | Recipient],
        message: Mapping[str, Any],
        version: int = 1,
        provider: str | None = None,
        connection: object = None,
    ) -> list[DeliveryView]:
        """Have recipients told, each once per subject and version, and return how that stands.

        A delivery that a recipient has for that subject and version stays as it is. `message` is
        what the provider needs, but for the recipient. With `connection` the deliveries are part
        of the caller's own transaction on the same database.
        """
        return self.deliveries.make(
            subject,
            recipients=recipients,
            message=message,
            version=version,
            provider=provider,
            connection=connection,
        )

    def publish(
        self,
        message_type: str,
        payload: object = None,
        *,
        aggregate_id: str | None = None,
        message_id: str | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> str:
        """Have a message published by a relay, and return its id.

        `message_id` is a UUID of the caller's own: a message of that id which is stored already
        stays as it is, so that publishing it again changes nothing.
        With `connection` it is part of the caller's own transaction on the same database: it is
        published if and only if that transaction commits. Messages of one aggregate are published
        one after the other; without an aggregate a message waits for no other.
        """
        self._open()
        return self.outbox.publish(
            message_type,
            payload,
            aggregate_id=aggregate_id,
            message_id=message_id,
            trace=tracing.current() if trace is None else trace,
            connection=connection,
        )

    def publish_many(self, messages: Iterable[Message], *, connection: object = None) -> list[str]:
        """Have messages published as `publish` does, all or none of them; return their ids."""
        self._open()
        trace = tracing.current()
        return self.outbox.publish_many(messages, trace=trace, connection=connection)

    def submit_many(
        self,
        pipeline: Pipeline | str,
        submits: Iterable[Any],
        *,
        connection: object = None,
    ) -> list[Submitted]:
        """Make many jobs in few statements, in order; one that is refused spares the others.

        Each is a payload, or a `Submit` where more than the payload is to be said.
        """
        found = self._pipeline(pipeline)
        given = as_submits(submits)
        self._open()
        with tracing.submitting(found.name, None) as context:
            if context is not None:
                given = [
                    submit if submit.trace is not None else submit._replace(trace=context)
                    for submit in given
                ]
            return self._submitter.many(found, given, connection=connection)

    def limit_queues(self, max_queued: int | None) -> None:
        """From now on refuse jobs with `QueueFull` while so many are queued in their queue."""
        self._submitter.admission = (
            None if max_queued is None else Admission(self._closed_store, max_queued=max_queued)
        )

    def _handle(self, named: Named, pipeline: Pipeline, submit: Submit) -> JobHandle:
        twin = named.removed
        if twin is None:
            return JobHandle(named.job_id, created=named.created, read=self.job)
        view = removed_job(
            twin,
            pipeline=pipeline.name,
            owner=submit.owner,
            key=submit.key or "",
            read_at=self.clock.now(),
        )
        return JobHandle(named.job_id, created=False, read=lambda _: view)

    def _pipeline(self, wanted: Pipeline | str) -> Pipeline:
        name = wanted.name if isinstance(wanted, Pipeline) else wanted
        found = self._pipelines.get(name)
        if found is None or (isinstance(wanted, Pipeline) and found is not wanted):
            raise UnknownPipeline(name, known=self._pipelines)
        return found
