"""What people do with conversions: send a file, look how it is doing, fetch, retry and remove it.

An `owner` of None is for those who may see everybody's; whatever else names one is refused what
belongs to another.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from converter.codes import (
    INVALID_MAPPING,
    IO_ERROR,
    NOT_PDF,
    TOO_LARGE,
    told_of_mapping,
    told_of_refused,
)
from converter.kept_files import KeptFiles, kept_files
from converter.limits import Pace, Quota, TooLarge, limited
from converter.payload import Upload, plain_filename
from converter.pdf_check import NotPdf, checked_pdf
from converter.pipeline import PIPELINE
from converter.presentation import result_name
from converter.refusals import (
    CallbackRefused,
    Cancelled,
    Expired,
    Forbidden,
    NotReady,
    NotTaken,
    PriorityRefused,
)
from converter.sending import HIGH, NORMAL, PRIORITIES, Sending
from converter.storage.contract import Reading, Storage, Stored
from converter.storage.errors import StorageError
from converter.storage.names import PDF, new_name
from converter.webhooks import Webhooks
from holdfast import GiveUp, Holdfast, JobFilter, JobState, JobView, UserError
from holdfast.errors import StoreUnavailable, UnknownJob, VersionConflict

LOGGER: Final = logging.getLogger("converter")
TRIES: Final = 5
"""How often a twin is looked for anew when others send the same file at the same moment."""
UNDER_WAY: Final = (JobState.QUEUED, JobState.PROCESSING, JobState.WAITING)


class Taken(NamedTuple):
    """The job of a file that was sent, and whether it is new."""

    job: JobView
    created: bool


class Conversions:
    """The conversions of one engine, with the files that belong to them."""

    def __init__(
        self,
        app: Holdfast,
        *,
        uploads: Storage,
        results: Storage,
        max_bytes: int,
        max_under_way: int,
        mappings: Sequence[str],
        max_per_minute: int = 0,
        webhooks: Webhooks | None = None,
    ) -> None:
        """With `max_per_minute` of 0 files may come as fast as they like."""
        self._mappings = mappings
        self._app = app
        self._uploads = uploads
        self._results = results
        self._max_bytes = max_bytes
        self._quota = Quota(max_under_way, under_way=self._count)
        self._pace = (
            Pace(max_per_minute, now=app.clock.now, made=self._made) if max_per_minute else None
        )
        self._webhooks = webhooks

    def take(self, sending: Sending, *, owner: str, may_hurry: bool = False) -> Taken:
        """Keep a file and have it converted, or find the job that does so already.

        Raises `NotTaken` for what is no PDF, is too large, is to become what there is no mapping
        for or cannot be kept, and leaves a failed job that says so. Raises `QuotaReached` for an
        owner with too much under way, `TooManyUploads` for one who sends too fast, and
        `CallbackRefused` and `PriorityRefused` for what may not be asked for, and leaves nothing.
        High priority is for those who `may_hurry`.
        """
        if self._pace is not None:
            self._pace.enter(owner)
        # What is asked for may come after the file; what came before it is refused before it.
        self._check(sending, may_hurry=may_hurry)
        with self._quota.place(owner) as fill:
            upload = Upload(
                source=new_name(PDF),
                filename=plain_filename(sending.filename),
                mapping="",
                size=0,
                sha256="",
            )
            # It may come after the file, which is then read for nothing.
            if sending.mapping:
                self._check_mapping(upload, sending, owner)
            stored = self._keep(upload, sending, owner)
            whole = replace(upload, mapping=sending.mapping, size=stored.size, sha256=stored.sha256)
            try:
                self._check(sending, may_hurry=may_hurry)
                self._check_mapping(whole, sending, owner)
                priority = PRIORITIES[sending.priority or NORMAL]
                taken = fill(lambda: self._submit(whole, owner, priority))
            except BaseException:
                self._forget(upload)
                raise
            if not taken.created:
                self._forget(upload)
        if sending.callback_url and self._webhooks is not None:
            self._webhooks.ask(taken.job, sending.callback_url)
        return taken

    def job(self, job_id: str, *, owner: str | None) -> JobView:
        """Return a conversion; raises `Forbidden`, or holdfast's `UnknownJob` to who sees all.

        An owner gets the same answer for what is another's and of what is not there.
        """
        try:
            view = self._app.job(job_id, owner=owner)
        except UnknownJob:
            view = None
        if view is None or view.job.pipeline != PIPELINE:
            raise UnknownJob(job_id) if owner is None else Forbidden
        return view

    def asked_for(self, job_id: str, *, owner: str | None) -> JobView:
        """Return the conversion whose XML is asked for; see `job`.

        Raises `Expired` for one of the owner's that is not even known any more.
        """
        try:
            return self.job(job_id, owner=owner)
        except Forbidden:
            if owner is not None and self._app.was_made_for(job_id, owner=owner):
                raise Expired from None
            raise

    def kept(self, views: Sequence[JobView]) -> KeptFiles:
        """Look which of these conversions still have the files that matter to them."""
        return kept_files(views, uploads=self._uploads, results=self._results)

    def retry(self, job_id: str, *, owner: str | None, by: str) -> JobView:
        """Send a failed conversion back, with a new budget.

        Raises `Expired` when its file is gone, and holdfast's `WrongState` unless it has failed.
        """
        view = self.job(job_id, owner=owner)
        if view.state is JobState.FAILED and not self.kept([view]).can_retry(view):
            raise Expired
        return self._app.retry(view.id, by=by)

    def remove(self, job_id: str, *, owner: str | None, by: str) -> None:
        """End a conversion that is under way, and remove its files."""
        view = self.job(job_id, owner=owner)
        result = result_name(view.id)
        if view.state not in UNDER_WAY:
            self._uploads.remove(upload_of(view).source)
            self._results.remove(result)
            return
        self._app.cancel(view.id, by=by)
        self._uploads.remove(upload_of(view).source)
        # A worker may be about to keep the XML, and keeps what it finds in its place: nothing.
        with suppress(StorageError):
            self._results.put(result, [])

    def result(self, job_id: str, *, owner: str | None) -> AbstractContextManager[Reading]:
        """Open the XML of a conversion; raises `NotReady` before its time and `Expired` after.

        There will be none of a conversion that was cancelled: that is `Cancelled`.
        """
        view = self.asked_for(job_id, owner=owner)
        if view.state is JobState.CANCELLED:
            raise Cancelled
        if view.state is not JobState.COMPLETE:
            raise NotReady
        if not self.kept([view]).has_result(view):
            raise Expired
        return self._results.open(result_name(view.id))

    def _keep(self, upload: Upload, sending: Sending, owner: str) -> Stored:
        """Write the file, or leave a failed job and raise `NotTaken`."""
        try:
            chunks = limited(sending.chunks(), self._max_bytes)
            return self._uploads.put(upload.source, checked_pdf(chunks))
        except NotPdf:
            code = NOT_PDF
        except TooLarge:
            code = TOO_LARGE
        except StorageError as error:
            LOGGER.error("a file cannot be kept: %s", error, extra={"event": "upload_failed"})  # noqa: TRY400 - no secret of a path is worth a stack
            code = IO_ERROR
        # The mapping may come after the file, of which the rest is not read.
        sent = replace(upload, mapping=sending.mapping)
        told = told_of_refused(code, limit_bytes=self._max_bytes)
        because = GiveUp if code == IO_ERROR else UserError
        job = self._app.refuse(PIPELINE, sent, because(code, told.message), owner=owner)
        raise NotTaken(told, job_id=job.id)

    def _check_mapping(self, upload: Upload, sending: Sending, owner: str) -> None:
        """Leave a failed job and raise `NotTaken` for a mapping that there is not."""
        if sending.mapping in self._mappings:
            return
        told = told_of_mapping(sending.mapping, known=self._mappings)
        sent = replace(upload, mapping=sending.mapping)
        because = UserError(INVALID_MAPPING, told.message)
        job = self._app.refuse(PIPELINE, sent, because, owner=owner)
        raise NotTaken(told, job_id=job.id)

    def _check(self, sending: Sending, *, may_hurry: bool) -> None:
        """Raise `CallbackRefused` or `PriorityRefused` for what may not be asked for."""
        if sending.callback_url:
            if self._webhooks is None:
                raise CallbackRefused("This converter makes no callbacks.")
            self._webhooks.check(sending.callback_url)
        if sending.priority == HIGH and not may_hurry:
            raise PriorityRefused

    def _submit(self, upload: Upload, owner: str, priority: int) -> Taken:
        """Make a job, unless one of the same file and mapping is under way or has its result."""
        key = f"{upload.sha256}:{upload.size}:{upload.mapping}"
        version = 1
        for _ in range(TRIES):
            try:
                handle = self._app.submit(
                    PIPELINE,
                    upload,
                    key=key,
                    key_alone=True,
                    owner=owner,
                    priority=priority,
                    version=version,
                    rerun=version > 1,
                )
                view, created = handle.get(), handle.created
            except VersionConflict as newer:
                view, created = self._app.job(newer.job_id), False
            if created:
                _log_queued(view)
            if created or self._stands(view):
                return Taken(view, created)
            version = view.job.version + 1
        raise StoreUnavailable("the jobs of this file", reason="they come and go")

    def _stands(self, twin: JobView) -> bool:
        """Return whether a job that there is already spares making another."""
        return twin.state in UNDER_WAY or self.kept([twin]).has_result(twin)

    def _count(self, owner: str, at_most: int) -> int:
        wanted = JobFilter(states=UNDER_WAY, pipeline=PIPELINE, owner=owner)
        return self._app.count(wanted, at_most=at_most)

    def _made(self, owner: str, since: int, most: int) -> list[int]:
        """Return when the owner's newest conversions since an instant were made."""
        wanted = JobFilter(pipeline=PIPELINE, owner=owner, created_since=cast("Any", since + 1))
        if self._app.count(wanted, at_most=most) < most:
            return []
        return [view.job.created_at for view in self._app.jobs(wanted, limit=most)]

    def _forget(self, upload: Upload) -> None:
        with suppress(StorageError):  # retention finds what is left
            self._uploads.remove(upload.source)


def _log_queued(view: JobView) -> None:
    """Write the first line about a conversion, with the fields that workers' lines have."""
    facts = {
        "event": "queued",
        "job_id": view.id,
        "pipeline": PIPELINE,
        "stage": view.job.stage,
        "status": view.state.value,
        "attempt": 0,
        "duration_ms": None,
        "error_code": None,
        "gateway_status": None,
        "breaker": None,
    }
    LOGGER.info("job queued", extra=facts)


def upload_of(view: JobView) -> Upload:
    """Return what was sent for a conversion."""
    return Upload(**view.payload)
