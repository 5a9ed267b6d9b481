"""Dead letters as files, to look at and to move between systems.

    {folder}/{operation_type}/{dlq_id}.json     one letter each
    {folder}/.processed_ids.json                those that nobody is to replay again

A file appears whole or not at all, and only its owner may read it: payloads are the originals.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from holdfast.asking import asked
from holdfast.core.dead_letter import DeadLetter, LetterState, ReplayAsked
from holdfast.core.document import parse
from holdfast.core.ids import JobId
from holdfast.core.job import DEFAULT_OWNER
from holdfast.dead_letters import DeadLetters
from holdfast.dlq_entry import OPERATION_TYPES, DLQEntry
from holdfast.errors import HoldfastError, InvalidDocument, StaleRevision, UsageError
from holdfast.letter_entry import (
    LIMITS,
    entry_of,
    entry_of_file,
    is_redacted,
    job_id_of,
    letter_id_of,
    letter_of,
    payload_of,
)
from holdfast.runtime.clock import Clock
from holdfast.store.audit import AuditEntry
from holdfast.store.contract import Store
from holdfast.store.letters import SUBJECT, LetterFilter
from holdfast.submission import checked_text

PROCESSED: Final = ".processed_ids.json"
PAGE: Final = 200
_WHAT: Final = "dead letter file"


class Outcome(StrEnum):
    """What became of a letter or of a file."""

    WRITTEN = "written"
    IMPORTED = "imported"
    KNOWN = "known"
    """The letter, or the job it is about, is here already; nothing was changed."""
    REFUSED = "refused"


class FileResult(NamedTuple):
    """One letter that was written, or one file that was read."""

    outcome: Outcome
    path: Path | None
    letter_id: str | None
    error: HoldfastError | None = None


class _Made(Protocol):
    """A job that was submitted."""

    id: JobId
    created: bool


Submit = Callable[..., _Made]
"""Makes a job, or finds the one that the key already names: `Holdfast.submit`."""


class LetterFiles:
    """Writes dead letters to files, and makes letters of files."""

    def __init__(self, store: Store, *, clock: Clock, dead: DeadLetters, submit: Submit) -> None:
        self._store = store
        self._clock = clock
        self._dead = dead
        self._submit = submit

    def export(
        self, folder: Path, wanted: LetterFilter, *, redact: bool = False
    ) -> Iterator[FileResult]:
        """Write matching letters below `folder`, one by one, the newest first.

        A letter that was written before is written again as it stands now. Payloads are the
        originals, secrets included; with `redact` they are not, and cannot be replayed.
        """
        processed: set[str] = set()
        written: set[str] = set()
        before: str | None = None
        while page := self._store.letters.find(wanted, before=before, limit=PAGE):
            jobs = self._store.get([JobId(letter.id) for letter in page])
            for letter in page:
                try:
                    entry = entry_of(letter, jobs.get(JobId(letter.id)), redact=redact)
                    if entry.dlq_id in written:
                        entry = _told_apart(entry, letter)
                except HoldfastError as error:
                    yield FileResult(Outcome.REFUSED, None, letter.id, error)
                    continue
                path = folder / entry.operation_type / f"{entry.dlq_id}.json"
                write_whole(path, _text_of(entry.to_json()))
                written.add(entry.dlq_id)
                if entry.processed:
                    processed.add(entry.dlq_id)
                yield FileResult(Outcome.WRITTEN, path, letter.id)
            before = page[-1].id
        known = _processed_ids(folder)
        write_whole(folder / PROCESSED, _text_of(sorted(known | processed)))

    def import_from(
        self, folder: Path, *, by: str, operation_types: Collection[str] | None = OPERATION_TYPES
    ) -> Iterator[FileResult]:
        """Make letters of the files below `folder`, one by one, in the order of their names.

        An entry whose letter or job is here already changes nothing, so this may be repeated. A
        file that is not as it should be is refused with the reason, and spares the others.
        """
        who = checked_text("import", field="by", text=by)
        if not folder.is_dir():
            raise UsageError(
                f"{folder} is no folder; name the one that the letters were written to"
            )
        processed = _processed_ids(folder)
        seen: set[str] = set()
        for path in sorted(folder.glob("*/*.json")):
            if any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue
            try:
                entry = _read(path, operation_types, seen)
                seen.add(entry.dlq_id)
                outcome = self._import(entry, who, processed=entry.dlq_id in processed)
            except UsageError as error:
                yield FileResult(Outcome.REFUSED, path, None, error)
            else:
                yield FileResult(outcome, path, letter_id_of(entry.dlq_id))

    def replay(
        self, letter_id: str, pipeline: str, *, by: str, reason: str | None = None
    ) -> tuple[DeadLetter, JobId, bool]:
        """Submit what a letter from a file holds as a new job, under its own id as the key.

        Returns the letter, which is done with, the job, and whether it is new: done twice, it
        makes one job, which is a dead letter of its own should it fail.
        """
        who, why = asked("replay", by, reason)
        # The key makes it safe to repeat.
        letter = self._dead.check(letter_id, ReplayAsked(who, reason=why, safe_to_repeat=True))
        entry = entry_of_file(letter._replace(state=LetterState.OPEN))
        if is_redacted(entry):
            raise UsageError(
                f"dead letter {letter.id} was redacted when it was written to its file; "
                "export it again without --redact"
            )
        made = self._submit(
            pipeline, payload_of(entry), key=entry.dlq_id, owner=letter.owner or DEFAULT_OWNER
        )
        now = self._clock.now()
        done = letter._replace(
            state=LetterState.RESOLVED,
            note=f"submitted to {pipeline} as job {made.id}",
            updated_at=now,
            resolved_at=now,
        )
        detail = {"job_id": made.id, "pipeline": pipeline, "dlq_id": entry.dlq_id}
        audit = AuditEntry(now, who, "replayed", SUBJECT, letter.id, why, detail)
        saved = self._store.letters.save(done, audit=[audit])
        if saved is None:
            saved = self._store.letters.get(letter.id)
            if saved is None or saved.note != done.note:
                raise StaleRevision(letter.id, expected=letter.revision, found=None)
        return saved, made.id, made.created

    def _import(self, entry: DLQEntry, by: str, *, processed: bool) -> Outcome:
        job_id = job_id_of(entry)
        if job_id is not None and self._store.get([JobId(job_id)]):
            return Outcome.KNOWN
        letter = letter_of(entry, now=self._clock.now(), processed=processed)
        audit = AuditEntry(
            letter.updated_at, by, "imported", SUBJECT, letter.id, None, {"dlq_id": entry.dlq_id}
        )
        return Outcome.IMPORTED if self._store.letters.add(letter, audit=audit) else Outcome.KNOWN


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, scratch = tempfile.mkstemp(dir=path.parent, prefix=".letter_", suffix=".tmp")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _told_apart(entry: DLQEntry, letter: DeadLetter) -> DLQEntry:
    """Return the entry under an id of its own: another failed in the same microsecond."""
    return replace(entry, dlq_id=f"{entry.dlq_id}-{letter.id[-12:]}", operation_types=None)


def _text_of(document: Any) -> bytes:  # noqa: ANN401 - JSON of any shape
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _read(path: Path, operation_types: Collection[str] | None, seen: set[str]) -> DLQEntry:
    """Return the entry of a file, which has to lie where it would have been written."""
    entry = DLQEntry.from_json(_document(path), operation_types=operation_types)
    if (path.parent.name, path.stem) != (entry.operation_type, entry.dlq_id):
        raise InvalidDocument(
            _WHAT,
            path="",
            found=f"the entry of {entry.operation_type}/{entry.dlq_id}.json",
            limit="the entry that the file's name promises",
        )
    if entry.dlq_id in seen:
        raise InvalidDocument(
            _WHAT, path="/dlq_id", found="the id of another file", limit="of one entry only"
        )
    return entry


def _document(path: Path) -> object:
    try:
        if path.stat().st_size > LIMITS.max_bytes:
            found = f"{path.stat().st_size} bytes"
            raise InvalidDocument(_WHAT, path="", found=found, limit=f"{LIMITS.max_bytes} or less")
        return parse(path.read_bytes(), what=_WHAT, limits=LIMITS)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidDocument(_WHAT, path="", found=reason, limit="a file to read") from error


def _processed_ids(folder: Path) -> set[str]:
    path = folder / PROCESSED
    if not path.exists():
        return set()
    found = _document(path)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InvalidDocument(PROCESSED, path="", found="something else", limit="a list of ids")
    return {str(one) for one in found}
