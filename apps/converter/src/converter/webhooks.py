"""Webhooks about conversions that have ended, for those who asked for one with their file.

A request for a webhook is a job of its own, made before the conversion can have ended unseen: it
waits for the end and then has the webhook delivered, whichever process dies meanwhile. A conversion
ends once for every time it was retried, and one more time; there is one webhook for each end.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from converter.callbacks import PROVIDER, CallbackConfig
from converter.codes import CODES, UNKNOWN, told_of
from holdfast import Holdfast, JobContext, JobFilter, JobState, JobView, Pipeline, RetryLater, Wait
from holdfast.classify import PublicCode
from holdfast.deliveries import Notify, Recipient
from holdfast.errors import UnknownJob, WrongState

PIPELINE: Final = "conversion-webhook"
OWNER: Final = "converter"
"""Whose jobs they are: nobody's who sends files, so that no list of theirs has them."""
WAITING_STAGE: Final = "wait_for_end"
SOON_S: Final = 120.0
"""For so long it is looked again and again whether a conversion has ended; then once a minute."""
LOOKED_AT: Final = 500
"""How many that wait are looked at in one turn of the chore."""
_SHORTEST_S: Final = 0.5
_LONGEST_S: Final = 10.0
_SHARE: Final = 0.25
_LATE: Final = "late"
_ENDED: Final = (JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request for a webhook: about which end of which conversion, and where to."""

    conversion: str
    url: str
    end: int = 1


class End(NamedTuple):
    """How a conversion ended."""

    status: str
    at: str
    error: PublicCode | None = None
    """The public code of one that failed."""

    def message(self, conversion: str) -> dict[str, Any]:
        """Return the webhook, but for where it goes."""
        return {
            "type": f"conversion.{self.status}",
            "timestamp": self.at,
            "data": {
                "id": conversion,
                "status": self.status,
                "error_code": None if self.error is None else self.error.code,
                "error_message": None if self.error is None else self.error.message,
            },
        }


class Webhooks:
    """The webhooks of one engine, which it is bound to before anything runs."""

    def __init__(self, config: CallbackConfig) -> None:
        self._config = config
        self._engine: Holdfast | None = None
        self._before: str | None = None
        self.provider = config.provider()
        self.pipeline = self._pipeline()

    def bind(self, app: Holdfast) -> None:
        """Use this engine."""
        self._engine = app

    def check(self, url: str) -> None:
        """Raise `CallbackRefused` unless a webhook may go there."""
        self._config.check(url)

    def ask(self, conversion: JobView, url: str) -> None:
        """Have a webhook sent about the next end of a conversion, or about the one that has been.

        Asking twice is the same as asking once.
        """
        self._ask(Wanted(conversion=conversion.id, url=url, end=conversion.job.retries + 1))

    def chore(self) -> None:
        """Let those go on whose conversion has ended while nobody looked."""
        wanted = JobFilter(states=(JobState.WAITING,), pipeline=PIPELINE)
        page = self._app.jobs(wanted, before=self._before, limit=LOOKED_AT)
        for view in page:
            if self._has_ended(Wanted(**view.payload)):
                with suppress(WrongState, UnknownJob):
                    self._app.answer(view.id, None, stage=WAITING_STAGE)
        self._before = page[-1].id if len(page) == LOOKED_AT else None

    @property
    def _app(self) -> Holdfast:
        if self._engine is None:
            raise RuntimeError("the webhooks are bound to no engine")
        return self._engine

    def _pipeline(self) -> Pipeline:
        pipeline = Pipeline(PIPELINE, payload=Wanted, submit_by="system")

        @pipeline.stage(name=WAITING_STAGE)
        def wait_for_end(job: JobContext, payload: Wanted) -> Wait | None:
            if self._has_ended(payload):
                return None
            now = self._app.job(job.id)
            waited_s = (now.read_at - now.job.created_at) / 1_000_000
            if payload.end == 1 and waited_s < SOON_S:
                raise RetryLater(after=min(max(waited_s * _SHARE, _SHORTEST_S), _LONGEST_S))
            return Wait()

        @pipeline.stage
        def notify(_job: JobContext, payload: Wanted) -> Notify | None:
            end = self._end(payload)
            if end is None:
                return None  # the conversion is not known any more
            if end.status == JobState.FAILED.value:
                self._ask(replace(payload, end=payload.end + 1))
            return Notify(
                subject=f"conversion {payload.conversion}",
                version=payload.end,
                provider=PROVIDER,
                # Nothing waits for it: what a receiver does is no affair of the conversion's.
                recipients=[Recipient(payload.url, required=False)],
                message=end.message(payload.conversion),
            )

        return pipeline

    def _ask(self, wanted: Wanted) -> None:
        digest = hashlib.sha256(wanted.url.encode()).hexdigest()[:32]
        key = f"{wanted.conversion}:{wanted.end}:{digest}"
        self._app.submit(PIPELINE, wanted, key=key, key_alone=True, owner=OWNER)

    def _has_ended(self, wanted: Wanted) -> bool:
        """Return whether that end has been, or never will be."""
        try:
            view = self._app.job(wanted.conversion)
        except UnknownJob:
            return True
        return _ends(view) >= wanted.end

    def _end(self, wanted: Wanted) -> End | None:
        """Return how a conversion ended that time; None when it is not known any more."""
        try:
            view = self._app.job(wanted.conversion)
            if _ends(view) > wanted.end or view.state not in _ENDED:
                return self._earlier_end(wanted)
        except UnknownJob:
            return None
        error = told_of(view.error or {}) if view.state is JobState.FAILED else None
        at = "" if view.finished_at is None else view.finished_at.isoformat()
        return End(view.state.value, at, error)

    def _earlier_end(self, wanted: Wanted) -> End | None:
        """Return an end that a retry followed, as only failures are followed by one."""
        failures = [
            line
            for line in self._app.history(wanted.conversion)
            if line.meta.get("state") == JobState.FAILED.value and line.event != _LATE
        ]
        if len(failures) < wanted.end:
            return None
        line = failures[wanted.end - 1]
        error = CODES.of(str(line.meta.get("error_code", UNKNOWN)), final=True)
        at = datetime.fromtimestamp(line.at / 1_000_000, UTC)
        return End(JobState.FAILED.value, at.isoformat(), error)


def _ends(view: JobView) -> int:
    """Return how often a conversion has ended: each retry followed an end."""
    return view.job.retries + (view.state in _ENDED)
