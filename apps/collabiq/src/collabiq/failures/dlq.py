"""The dead letter queue: what failed for good, as files and as people ask for it.

The letters of the engine's store are the truth. Their files in `data/dlq` follow them, and a
payload that was edited there is what a replay sends, after validation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from collabiq.failures.payloads import (
    INBOX,
    OPERATION_OF_STAGE,
    PIPELINES,
    checked_payload,
    email_id_of,
    payload_of,
    replace_payload,
)
from collabiq.records.dlq_entry import (
    DLQ_FORM,
    OPERATION_TYPES,
    DLQEntry,
    DLQStatus,
    is_email_id,
)
from collabiq.refusals import (
    AlreadyProcessed,
    DeadLetterNotFound,
    Invalid,
    Refused,
    WrongState,
    flaw,
)
from collabiq.settings.config import Config
from holdfast import ConflictError, Holdfast, JobState, JobView, UsageError
from holdfast.dead_letters import LetterView
from holdfast.errors import InvalidDocument, UnknownLetter
from holdfast.letter_files import Described, Kept, LetterEntry, LetterMirror

FOLDER: Final = "dlq"
DATABASE: Final = "NOTION_DATABASE_ID_COLLABIQ"
MAX_AT_ONCE: Final = 1_000
WAIT_S: Final = 600.0
"""How long a replay of many waits for all of them to end."""
_LOOK_S: Final = 0.1
_REPLAYABLE: Final = (DLQStatus.PENDING, DLQStatus.FAILED)
_UNDER_WAY: Final = frozenset({JobState.QUEUED, JobState.PROCESSING, JobState.WAITING})

DatabaseId = Callable[[], str | None]
"""Return the id of the database of rows: nothing is written to another."""


class LetterPayloads:
    """What the files of this system's letters say."""

    def __init__(self, engine: Holdfast, config: Config, database_id: DatabaseId) -> None:
        self._engine, self._config, self._database_id = engine, config, database_id

    def describe(self, view: LetterView) -> Described | None:
        """Return the mail, the operation and what a replay would send; None for others' jobs."""
        operation = OPERATION_OF_STAGE.get(view.letter.stage)
        if view.job is None or view.letter.pipeline not in PIPELINES or operation is None:
            return None
        # The job may have got further since; the letter is about the stage that failed.
        job = JobView(view.job._replace(stage=view.letter.stage), view.read_at)
        email_id = email_id_of(job)
        subject = email_id if is_email_id(email_id) else INBOX
        try:
            payload = payload_of(self._engine, job)
        except (KeyError, TypeError):
            # What the stages before had found is gone, with the job's age for instance.
            payload = {"email_id": subject}
        return Described(subject, operation, payload or {"email_id": subject})

    def refusal(self, operation_type: str, payload: object) -> Invalid | None:
        """Return why a payload cannot be sent; None where it can."""
        if not isinstance(payload, Mapping) or not payload:
            return Invalid([flaw("", "give an object that is not empty")])
        try:
            self._checked(operation_type, payload)
        except Invalid as error:
            return error
        return None

    def checked(self, operation_type: str, payload: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a payload as it is sent, or raise `UsageError` with what is wrong."""
        refused = self.refusal(operation_type, payload)
        if refused is not None:
            raise UsageError(refused.message)
        return self._checked(operation_type, payload)

    def replace(self, job_id: str, payload: Any, *, by: str) -> None:  # noqa: ANN401 - JSON
        """Have the next replay of a job take this."""
        replace_payload(self._engine, job_id, payload, by=by)

    def _checked(self, operation_type: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        return checked_payload(
            operation_type, payload, self._config, database_id=self._database_id() or ""
        )


class DeadLetterQueue:
    """The entries, with what people do about them; every answer is a plain document.

    `mirror` keeps the files: a service that runs beside the worker.
    """

    def __init__(
        self, engine: Holdfast, config: Config, *, database_id: DatabaseId | None = None
    ) -> None:
        self._engine = engine
        self._payloads = LetterPayloads(engine, config, database_id or _named_in(engine))
        self.mirror = LetterMirror(
            engine, config.data_dir / FOLDER, form=DLQ_FORM, content=self._payloads
        )

    def list(
        self, operation_type: str | None = None, status: str | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the entries, oldest first."""
        _check_choice("operation_type", operation_type, OPERATION_TYPES)
        _check_choice("status", status, list(DLQStatus))
        found = [
            kept.entry
            for kept in self.mirror.entries()
            if operation_type in (None, kept.entry.operation_type)
            and status in (None, kept.entry.status.value)
        ]
        found.sort(key=lambda entry: (entry.created_at, entry.entry_id))
        return {"entries": [_document(entry) for entry in found]}

    def show(self, dlq_id: str) -> dict[str, Any]:
        """Return one entry."""
        return _document(self._get(dlq_id).entry)

    def replace(self, dlq_id: str, payload: object, *, by: str) -> dict[str, Any]:
        """Have a replay send another payload, once it was checked."""
        kept = self._get(dlq_id)
        self._check_open(kept)
        refused = self._payloads.refusal(kept.entry.operation_type, payload)
        if refused is not None:
            raise refused
        if kept.job is None:
            raise WrongState(f"{dlq_id} was brought here as a file; change it there")
        given: Mapping[str, Any] = payload  # type: ignore[assignment]
        return self._done(dlq_id, lambda: self.mirror.replace(dlq_id, given, by=by))

    def replay(self, dlq_id: str, *, by: str) -> dict[str, Any]:
        """Send what failed again, as its file has it; nothing is sent twice."""
        kept = self._get(dlq_id)
        self._check_open(kept)
        if kept.job is None:
            raise WrongState(
                f"{dlq_id} has no job here; do by hand what it names, then complete it"
            )
        return self._done(
            dlq_id,
            # Rows are looked up before they are made, and mails are known by their ids.
            lambda: self.mirror.replay(dlq_id, by=by, confirm_idempotent=True),
        )

    def replay_many(
        self, operation_type: str, max_count: int = 10, *, by: str, wait_s: float = WAIT_S
    ) -> dict[str, Any]:
        """Send the oldest entries of an operation again, and answer when all have ended.

        `skipped` counts entries that were replayed by others meanwhile, or have not ended in time.
        """
        _check_choice("operation_type", operation_type, OPERATION_TYPES)
        if type(max_count) is not int or not 1 <= max_count <= MAX_AT_ONCE:
            raise Invalid([flaw("/max_count", f"a whole number from 1 to {MAX_AT_ONCE}")])
        sent, skipped, refused = [], 0, []
        for kept in self._replayable(operation_type)[:max_count]:
            try:
                self.replay(kept.entry.entry_id, by=by)
                sent.append(kept.letter.id)
            except (AlreadyProcessed, WrongState, DeadLetterNotFound):
                skipped += 1
            except Refused as error:
                path = self.mirror.folder.path_of(kept.entry)
                refused.append({"path": str(path), "why": error.message})
        ends = [self._ended(job_id, wait_s) for job_id in sent]
        self.mirror.flush()
        return {
            "success": ends.count(JobState.COMPLETE),
            "failed": ends.count(JobState.FAILED) + ends.count(JobState.CANCELLED) + len(refused),
            "skipped": skipped + sum(state in _UNDER_WAY for state in ends),
            "refused": refused,
        }

    def complete(self, dlq_id: str, *, by: str, reason: str) -> dict[str, Any]:
        """Close an entry that was resolved by hand."""
        kept = self._get(dlq_id)
        if kept.entry.processed:
            raise AlreadyProcessed(dlq_id)
        if not reason.strip():
            raise Invalid([flaw("/reason", "say how it was seen to")])
        return self._done(dlq_id, lambda: self.mirror.complete(dlq_id, by=by, reason=reason))

    def keep(self, entry: DLQEntry, *, by: str = "collabiq") -> dict[str, Any]:
        """Add what failed outside of jobs, such as at the start."""
        return _document(self.mirror.keep(DLQ_FORM.read(entry.to_json()), by=by).entry)

    def sync(self, *, by: str = "collabiq") -> dict[str, Any]:
        """Make every file say what the store says; take files of others, once they were checked."""
        try:
            done = self.mirror.sync(by=by)
        except OSError as error:
            root = self.mirror.folder.root
            raise Refused(
                "unwritable", f"{root} cannot be written: {error.strerror or error}", status=503
            ) from error
        return {
            "written": done.written,
            "restored": done.restored,
            "imported": done.imported,
            "refused": [{"path": str(one.path), "why": one.why} for one in done.refused],
        }

    def _get(self, dlq_id: str) -> Kept:
        try:
            return self.mirror.get(dlq_id)
        except UnknownLetter:
            raise DeadLetterNotFound(dlq_id) from None

    def _check_open(self, kept: Kept) -> None:
        entry = kept.entry
        if entry.processed or entry.status is DLQStatus.COMPLETED:
            raise AlreadyProcessed(entry.entry_id)
        if entry.status is DLQStatus.REPLAYING:
            raise WrongState(f"{entry.entry_id} is being replayed; wait until that has ended")

    def _done(self, dlq_id: str, work: Callable[[], Kept]) -> dict[str, Any]:
        try:
            return _document(work().entry)
        except InvalidDocument as error:
            raise Invalid([flaw(error.path, f"{error.found}; it must be {error.limit}")]) from error
        except UsageError as error:
            raise Invalid([flaw("/original_payload", str(error))]) from error
        except ConflictError as error:
            self._check_open(self._get(dlq_id))
            raise WrongState(f"{dlq_id} has moved meanwhile; look at it again") from error

    def _replayable(self, operation_type: str) -> Sequence[Kept]:
        found = [
            kept
            for kept in self.mirror.entries()
            if kept.entry.operation_type == operation_type
            and kept.entry.status in _REPLAYABLE
            and not kept.entry.processed
            and kept.job is not None
        ]
        return sorted(found, key=lambda kept: (kept.entry.created_at, kept.entry.entry_id))

    def _ended(self, job_id: str, wait_s: float) -> JobState:
        """Return how a job ended, or how it stands when it has not ended in time."""
        pause, waited_s = threading.Event(), 0.0
        while (state := self._engine.job(job_id).state) in _UNDER_WAY and waited_s < wait_s:
            pause.wait(_LOOK_S)
            waited_s += _LOOK_S
        return state


def _named_in(engine: Holdfast) -> DatabaseId:
    return lambda: engine.secrets.get(DATABASE)


def _document(entry: LetterEntry) -> dict[str, Any]:
    return DLQ_FORM.write(entry)


def _check_choice(name: str, value: str | None, known: tuple[str, ...] | list[Any]) -> None:
    if value is not None and value not in known:
        words = ", ".join(str(each) for each in known)
        raise Invalid([flaw(f"/{name}", f"has to be one of {words}")])
