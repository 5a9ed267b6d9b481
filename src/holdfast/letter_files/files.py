"""Dead letters as files, to look at and to move between systems.

    {folder}/{operation_type}/{id}.json     one letter each
    {folder}/.processed_ids.json            those that nobody is to replay again

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

from holdfast.core.dead_letter.dead_letter import DeadLetter, LetterState, ReplayAsked
from holdfast.core.job.job import DEFAULT_OWNER, Job
from holdfast.core.values.document import parse
from holdfast.core.values.ids import JobId
from holdfast.engine.arguments import asked
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import HoldfastError, InvalidDocument, StaleRevision, UsageError
from holdfast.letter_files.entry import (
    LIMITS,
    Describe,
    described,
    entry_of,
    entry_of_file,
    is_redacted,
    job_id_of,
    letter_id_of,
    letter_of,
    payload_of,
)
from holdfast.letter_files.form import PLAIN_FORM, WHAT, LetterEntry, LetterForm
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT, LetterFilter

PROCESSED: Final = ".processed_ids.json"
PAGE: Final = 200


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
    """Writes dead letters to files, and makes letters of files.

    `form` has the names that stand in the files, `describe` says what of a letter does.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        dead: DeadLetters,
        submit: Submit,
        form: LetterForm = PLAIN_FORM,
        describe: Describe = described,
    ) -> None:
        self._store = store
        self._clock = clock
        self._dead = dead
        self._submit = submit
        self._form = form
        self._describe = describe

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
                    entry = self._entry_of(letter, jobs.get(JobId(letter.id)), redact=redact)
                    if entry.entry_id in written:
                        entry = _told_apart(entry, letter)
                except HoldfastError as error:
                    yield FileResult(Outcome.REFUSED, None, letter.id, error)
                    continue
                path = path_of(folder, entry)
                write_whole(path, text_of(self._form.write(entry)))
                written.add(entry.entry_id)
                if entry.processed:
                    processed.add(entry.entry_id)
                yield FileResult(Outcome.WRITTEN, path, letter.id)
            before = page[-1].id
        known = processed_ids(folder)
        write_whole(folder / PROCESSED, text_of(sorted(known | processed)))

    def _entry_of(self, letter: DeadLetter, job: Job | None, *, redact: bool) -> LetterEntry:
        return entry_of(letter, job, redact=redact, form=self._form, describe=self._describe)

    def import_from(
        self, folder: Path, *, by: str, operation_types: Collection[str] | None = None
    ) -> Iterator[FileResult]:
        """Make letters of the files below `folder`, one by one, in the order of their names.

        An entry whose letter or job is here already changes nothing, so this may be repeated. A
        file that is not as it should be is refused with the reason, and spares the others. With
        `operation_types` others are refused, besides those that the form does not have.
        """
        who = checked_text("import", field="by", text=by)
        if not folder.is_dir():
            raise UsageError(
                f"{folder} is no folder; name the one that the letters were written to"
            )
        processed = processed_ids(folder)
        form = (
            self._form
            if operation_types is None
            else replace(self._form, operations=operation_types)
        )
        seen: set[str] = set()
        for path in sorted(folder.glob("*/*.json")):
            if any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue
            try:
                entry = read_entry(path, form)
                if entry.entry_id in seen:
                    raise _repeated(form)
                seen.add(entry.entry_id)
                outcome = self.take(entry, who, processed=entry.entry_id in processed)
            except UsageError as error:
                yield FileResult(Outcome.REFUSED, path, None, error)
            else:
                yield FileResult(outcome, path, letter_id_of(entry.entry_id))

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
                "export it again as it is"
            )
        made = self._submit(
            pipeline, payload_of(entry), key=entry.entry_id, owner=letter.owner or DEFAULT_OWNER
        )
        now = self._clock.now()
        done = letter._replace(
            state=LetterState.RESOLVED,
            note=f"submitted to {pipeline} as job {made.id}",
            updated_at=now,
            resolved_at=now,
        )
        detail = {"job_id": made.id, "pipeline": pipeline, "entry_id": entry.entry_id}
        audit = AuditEntry(now, who, "replayed", SUBJECT, letter.id, why, detail=detail)
        saved = self._store.letters.save(done, audit=[audit])
        if saved is None:
            saved = self._store.letters.get(letter.id)
            if saved is None or saved.note != done.note:
                raise StaleRevision(letter.id, expected=letter.revision, found=None)
        return saved, made.id, made.created

    def take(self, entry: LetterEntry, by: str, *, processed: bool) -> Outcome:
        """Make a letter of one entry, unless the letter or its job is here."""
        job_id = job_id_of(entry)
        if job_id is not None and self._store.get([JobId(job_id)]):
            return Outcome.KNOWN
        letter = letter_of(entry, now=self._clock.now(), processed=processed)
        audit = AuditEntry(
            letter.updated_at,
            by,
            "imported",
            SUBJECT,
            letter.id,
            None,
            detail={"entry_id": entry.entry_id},
        )
        return Outcome.IMPORTED if self._store.letters.add(letter, audit=audit) else Outcome.KNOWN


def path_of(folder: Path, entry: LetterEntry) -> Path:
    """Return where the file of an entry belongs."""
    return folder / entry.operation_type / f"{entry.entry_id}.json"


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


def _told_apart(entry: LetterEntry, letter: DeadLetter) -> LetterEntry:
    """Return the entry under an id of its own: another failed in the same microsecond."""
    return replace(entry, entry_id=f"{entry.entry_id}-{letter.id[-12:]}")


def text_of(document: Any) -> bytes:  # noqa: ANN401 - JSON of any shape
    """Return what stands in a file."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def read_entry(path: Path, form: LetterForm) -> LetterEntry:
    """Return the entry of a file, which has to lie where it would have been written."""
    entry = form.read(_document(path))
    if (path.parent.name, path.stem) != (entry.operation_type, entry.entry_id):
        raise InvalidDocument(
            WHAT,
            path="",
            found=f"the entry of {entry.operation_type}/{entry.entry_id}.json",
            limit="the entry that the file's name promises",
        )
    return entry


def _repeated(form: LetterForm) -> InvalidDocument:
    limit = "of one entry only"
    return InvalidDocument(
        WHAT, path=f"/{form.id_name}", found="the id of another file", limit=limit
    )


def _document(path: Path) -> object:
    try:
        if path.stat().st_size > LIMITS.max_bytes:
            found = f"{path.stat().st_size} bytes"
            raise InvalidDocument(WHAT, path="", found=found, limit=f"{LIMITS.max_bytes} or less")
        return parse(path.read_bytes(), what=WHAT, limits=LIMITS)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidDocument(WHAT, path="", found=reason, limit="a file to read") from error


def processed_ids(folder: Path) -> set[str]:
    """Return the ids of entries that nobody is to replay again."""
    path = folder / PROCESSED
    if not path.exists():
        return set()
    found = _document(path)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InvalidDocument(PROCESSED, path="", found="something else", limit="a list of ids")
    return {str(one) for one in found}
