"""What end users and operators see of failures: one place for every route, stream and page.

Operators, and readers of every owner's rows, see all that is kept. A reader who sees one owner's
rows and is no operator is an end user: of a failure they get the public code and its line, of a
worker a name that gives no machine away, and nothing that operators wrote for each other. Where an
operator reads the error class and the message, an end user reads the code and the line.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.classify.public import PublicCode
from holdfast.core.dead_letter.replay import Item
from holdfast.core.job.job import Job
from holdfast.core.values.failure import Category
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.events.stream_event import StreamEvent
from holdfast.secrecy import private, redacted, redacted_value
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.views.dead_letter import LetterReport, LetterView, advice_of
from holdfast.views.delivery import DeliveryReport, DeliveryView
from holdfast.views.explain.advice import Advice, Mover
from holdfast.views.explain.waiting import Reason, Waiting
from holdfast.views.job import AttemptLine, HistoryLine, JobView
from holdfast.views.replay import ReplayView

LOGGER: Final = logging.getLogger("holdfast.engine")
NO_MORE_TO_SAY: Final = "The job failed. Its operators can say more; name the job’s id to them."
"""What an end user reads about a failure of a pipeline without public codes."""
NOT_SENT: Final = "It waits until its messages are sent."
_OF_THE_JOB: Final = frozenset(
    {Reason.ANSWER, Reason.DELIVERIES, Reason.SCHEDULED, Reason.RETRY, Reason.WORKER}
)
"""Reasons to wait that end users read: queues, upstreams and workers are no business of theirs."""
UNNAMED_REPLAY: Final = "replay"
_DIGITS: Final = 8
_META: Final = (
    "state",
    "attempt",
    "duration_ms",
    "gateway_http_status",
    "error_code",
    "error_message",
    "delay_us",
    "asked_us",
    "until",
    "from_start",
)
"""What an end user sees of the circumstances of an event."""


@dataclass(frozen=True, slots=True)
class PublicError:
    """The public part of a failure: its code, and a line for users."""

    error_code: str
    error_message: str | None
    """None to operators where the pipeline has no public codes: they read the failure itself."""


class Disclosure:
    """The documents of an engine's jobs as one kind of reader may see them."""

    def __init__(self, find_pipeline: Callable[[str], Pipeline | None], *, end_user: bool) -> None:
        self.end_user = end_user
        self._find_pipeline = find_pipeline

    def public_error(self, view: JobView) -> PublicError | None:
        """Return the public part of a job's failure; None while it has not failed."""
        return None if view.error is None else self._public_error(view.job.pipeline, view.error)

    def job(self, view: JobView) -> JobView:
        """Return a job as this reader may see it."""
        if not self.end_user:
            return view
        # Queues, upstreams and workers are no business of those whose jobs they carry.
        return replace(view, job=self._job(view.job, self.public_error(view)), waits_for=None)

    def key(self, view: JobView) -> str | None:
        """Return a job's key; of one that failed without what is personal, unless that is kept."""
        key = view.job.key
        if key is None or view.error is None:
            return key
        pipeline = self._find_pipeline(view.job.pipeline)
        kept = pipeline is not None and pipeline.keeps_personal_data
        return redacted(key) if kept else private(key)

    def waiting(self, found: Iterable[Waiting]) -> list[Waiting]:
        """Return why a job waits as this reader may see it: end users read of its own times."""
        if not self.end_user:
            return list(found)
        plain = [
            each._replace(sentence=NOT_SENT, move=None)
            if each.reason is Reason.DELIVERIES
            else each
            for each in found
        ]
        return [each._replace(whose=Mover.NOBODY) for each in plain if each.reason in _OF_THE_JOB]

    def own_fields(self, view: JobView) -> dict[str, Any]:
        """Return the fields that a job's pipeline adds to its document."""
        pipeline = self._find_pipeline(view.job.pipeline)
        if pipeline is None or pipeline.document is None:
            return {}
        try:
            fields: dict[str, Any] = redacted_value(dict(pipeline.document(self.job(view))))
        except Exception:
            facts = {"event": "document_failed", "job_id": view.id, "pipeline": pipeline.name}
            LOGGER.exception("a pipeline cannot describe its job", extra=facts)
            return {}
        return fields

    def history(self, lines: Iterable[HistoryLine]) -> list[HistoryLine]:
        """Return what happened to a job as this reader may see it."""
        if not self.end_user:
            return list(lines)
        return [replace(line, meta=_public(line.meta)) for line in lines]

    def attempts(self, lines: Iterable[AttemptLine]) -> list[AttemptLine]:
        """Return attempts as this reader may see them."""
        if not self.end_user:
            return list(lines)
        return [
            replace(line, worker=unnamed(line.worker), error_class=line.error_code)
            for line in lines
        ]

    def event(self, event: StreamEvent) -> StreamEvent:
        """Return an event of the stream as this reader may see it."""
        if not self.end_user:
            return event
        return event._replace(data=event.data | {"meta": _public(event.data["meta"])})

    def letter(self, view: LetterView) -> LetterView:
        """Return a dead letter as this reader may see it."""
        if not self.end_user:
            return view
        letter, public = view.letter, view.public
        if public is None:
            public = PublicCode(message=NO_MORE_TO_SAY, code=letter.error_class)
        before = letter.previous_class
        if before is not None:
            before = self._of_class(letter.pipeline, before, "").error_code
        return replace(
            view,
            letter=letter._replace(
                error_class=public.code,
                previous_class=before,
                message=public.message,
                exception_type="",
                stack="",
                holder=unnamed(letter.holder),
                evidence=None,
                note=None,
            ),
            job=None if view.job is None else self.job(JobView(view.job, view.read_at)).job,
            public=public,
            advised=False,
        )

    def letter_report(self, report: LetterReport) -> LetterReport:
        """Return all that this reader may know of a dead letter."""
        if not self.end_user:
            return report
        return replace(
            report,
            view=self.letter(report.view),
            actions=(),
            history=self.history(report.history),
            upstream=None,
            deliveries=[self.delivery(view) for view in report.deliveries],
        )

    def group(self, group: LetterGroup) -> LetterGroup:
        """Return dead letters of one cause as this reader may see them."""
        if not self.end_user:
            return group
        public = self.group_error(group)
        line = public.error_message or NO_MORE_TO_SAY
        return group._replace(error_class=public.error_code, message=line, exception_type="")

    def group_advice(self, group: LetterGroup) -> Advice | None:
        """Return whose move letters of one cause are; None for end users."""
        if self.end_user:
            return None
        return advice_of(group)

    def group_error(self, group: LetterGroup) -> PublicError:
        """Return the public part of the failure that letters of one cause share."""
        pipeline = next(iter(group.pipelines), "")
        return self._of_class(pipeline, group.error_class, group.message)

    def delivery(self, view: DeliveryView) -> DeliveryView:
        """Return a delivery as this reader may see it."""
        if not self.end_user:
            return view
        holder = unnamed(view.delivery.holder)
        plain = view.delivery._replace(error=None, error_class=None, holder=holder)
        return view._replace(delivery=plain)

    def delivery_report(self, report: DeliveryReport) -> DeliveryReport:
        """Return all that this reader may know of a delivery."""
        if not self.end_user:
            return report
        return DeliveryReport(self.delivery(report.view), [], [])

    def replay(self, view: ReplayView) -> ReplayView:
        """Return a replay as this reader may see it; its name may be that of an error class."""
        if not self.end_user:
            return view
        plain = view.replay._replace(name=UNNAMED_REPLAY, reason=None, note=None)
        return replace(view, replay=plain)

    def replayed(self, items: Sequence[Item]) -> list[Item]:
        """Return the letters of a replay as this reader may see them."""
        return [item._replace(note=None) for item in items] if self.end_user else list(items)

    def _job(self, job: Job, public: PublicError | None) -> Job:
        error = None
        if public is not None:
            line = public.error_message or NO_MORE_TO_SAY
            error = json.dumps({"error_class": public.error_code, "message": line})
        return job._replace(
            holder=unnamed(job.holder),
            error=error,
            error_class=None if public is None else public.error_code,
        )

    def _of_class(self, pipeline: str, error_class: str, message: str) -> PublicError:
        facts = {"category": Category.PERMANENT, "retryable": False}
        return self._public_error(
            pipeline, {"error_class": error_class, "message": message, **facts}
        )

    def _public_error(self, pipeline: str, error: Mapping[str, Any]) -> PublicError:
        known = self._find_pipeline(pipeline)
        codes = None if known is None else known.public_codes
        if codes is None:
            code = str(error.get("error_class") or "UNKNOWN")
            return PublicError(code, NO_MORE_TO_SAY if self.end_user else None)
        public = codes.of(error)
        return PublicError(public.code, public.message)


def unnamed(worker: str | None) -> Any:  # noqa: ANN401 - of the type that the row has
    """Return a name by which a worker is known again, and by which nothing else is known of it.

    A worker's own name has 32 bits of chance in it: no more than as many are shown, so that every
    host would fit.
    """
    if worker is None:
        return None
    return f"worker-{hashlib.sha256(worker.encode()).hexdigest()[:_DIGITS]}"


def _public(meta: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: meta[name] for name in _META if name in meta}
    if kept.get("error_code") is not None:
        kept.setdefault("error_message", NO_MORE_TO_SAY)
    if "worker" in meta:
        kept["worker"] = unnamed(meta["worker"])
    return kept
