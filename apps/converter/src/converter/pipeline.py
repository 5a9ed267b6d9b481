"""The pipeline of a conversion: look at what was sent, have it converted, keep the XML."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, Protocol

from converter.codes import CODES, EXPIRED, IO_ERROR, told_of_refused
from converter.payload import Converted, Upload
from converter.presentation import EVENTS, fields_of, result_name
from converter.storage.async_files import AsyncDraft, AsyncReading
from converter.storage.contract import Storage
from converter.storage.errors import StorageError, StorageFull, StorageMissing
from converter.storage.thread_pool import LOCAL_THREADS, REMOTE_THREADS, ThreadPool
from holdfast import Breaker, JobContext, Pipeline, Retry, Upstream, UserError
from holdfast.classify import Rule, Verdict

PIPELINE: Final = "convert"
SUBMIT_AT: Final = "POST /api/upload"
GATEWAY: Final = "gateway"
MAX_BYTES: Final = 50 * 1024 * 1024
_WRITES: Final = 2
"""A result that cannot be kept is tried once more, whatever the gateway did before: what is wrong
with a disk seldom passes."""
_MARGIN_S: Final = 10.0
"""How much longer the engine waits for a call than the call itself: its own limit says more, and a
call that failed may be followed by a question to the gateway's `/health`."""


_GONE: Final = CODES.codes[EXPIRED].message


class Gateway(Protocol):
    """Turns PDF into XML, somewhere else."""

    async def convert(
        self, source: AsyncReading, mapping: str, *, into: AsyncDraft, job: JobContext
    ) -> None:
        """Write the XML of a PDF, checked, into a draft; raise what the pipeline's rules know."""

    def probe(self) -> None:
        """Return when the gateway is well; raise otherwise."""


STORAGE_RULES: Final = (
    Rule(StorageMissing, Verdict(EXPIRED, retryable=False, message=CODES.codes[EXPIRED].message)),
    Rule(StorageFull, Verdict(IO_ERROR, retryable=False, blames_upstream=False)),
    Rule(
        StorageError,
        Verdict(IO_ERROR, retryable=True, attempts=_WRITES, own_budget=True, blames_upstream=False),
    ),
)
"""What the failures of storage mean; a full disk does not empty itself between two attempts."""


def conversion_pipeline(
    *,
    uploads: Storage,
    results: Storage,
    gateway: Gateway,
    timeout_s: float,
    retry: Retry,
    breaker: Breaker,
    max_bytes: int = MAX_BYTES,
    rules: tuple[Rule, ...] = (),
) -> Pipeline:
    """Return the pipeline, on these storages and this gateway; `rules` are the gateway's own.

    `max_bytes` is how large a file may be: those that are refused for it read that.
    """
    pipeline = Pipeline(
        PIPELINE,
        payload=Upload,
        retry=retry,
        public_codes=CODES,
        events=EVENTS,
        document=fields_of,
        log_attempts=True,
        retry_refusal=lambda payload: _GONE if not uploads.exists(payload["source"]) else None,
        retry_by="owner",
        submit_by="system",
        submit_at=SUBMIT_AT,
        # A key is the hash of a file: it spares a conversion while there is one, and no longer.
        keep_keys=False,
    )
    upstream = Upstream(
        GATEWAY,
        timeout=timeout_s + _MARGIN_S,
        rules=(*STORAGE_RULES, *rules),
        breaker=breaker,
        probe=gateway.probe,
    )

    is_local = uploads.is_local and results.is_local
    threads = ThreadPool(LOCAL_THREADS if is_local else REMOTE_THREADS)

    @pipeline.stage(retired=True)
    async def accept(_job: JobContext, payload: Upload) -> None:
        # Jobs that were made before refused files stayed out of the queue begin here.
        refused = payload.refused
        if refused is not None:
            raise UserError(refused, told_of_refused(refused, limit_bytes=max_bytes).message)

    @pipeline.stage(calls=upstream)
    async def convert(job: JobContext, payload: Upload) -> Converted:
        name = result_name(job.id)

        def begin() -> AsyncReading | int:
            # An attempt before this one may have finished it and died before anybody knew. Whether
            # there is room is asked before the gateway has worked for nothing.
            size = results.size_or_room(name)
            if size is not None:
                return size
            return AsyncReading.open(uploads, payload.source, threads=threads)

        begun = begin() if is_local else await threads.run(begin)
        if isinstance(begun, int):
            return Converted(result=name, size=begun)
        async with begun as source, AsyncDraft(results, name, threads=threads) as draft:
            await gateway.convert(source, payload.mapping, into=draft, job=job)
            job.answered(HTTPStatus.OK.value)
            # The gateway is done with it: another file may be sent while this one reaches the disk.
            with job.aside():
                return Converted(result=name, size=await draft.commit())

    return pipeline
