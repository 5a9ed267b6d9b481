"""Makes the files of dead letters say what the store says, one by one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import FILE, MESSAGE, DeadLetter, LetterState
from holdfast.core.job.job import Job
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import from_datetime, to_datetime
from holdfast.errors import InvalidDocument, UsageError
from holdfast.letter_files.content import LetterContent
from holdfast.letter_files.entry import entry_of, payload_of, was_edited
from holdfast.letter_files.episodes import Episode, episodes
from holdfast.letter_files.folder import LetterFolder
from holdfast.letter_files.form import EntryStatus, LetterEntry
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.dead_letter import LetterView

LOGGER: Final = logging.getLogger("holdfast.letters")
PAGE: Final = 200
BY_FILE: Final = "file"
"""Who changed a payload, where all that is known is that its file was changed."""
_OPEN: Final = (EntryStatus.PENDING, EntryStatus.FAILED)


class Kept(NamedTuple):
    """A letter and the entry that its file has."""

    letter: DeadLetter
    job: Job | None
    entry: LetterEntry


class _Seen(NamedTuple):
    """What a file was written from, and how it stood on the disk then."""

    revisions: tuple[int, int | None]
    path: Path
    stat: tuple[int, int, int] | None
    processed: bool


class _Edit(Enum):
    """What was found of a person's work in a file."""

    NONE = auto()
    TAKEN = auto()
    UNUSABLE = auto()
    """The file stays as it is until it is mended, or the letter moves."""


class LetterKeeper:
    """Reads letters with their entries, and writes the files of those that have moved."""

    def __init__(
        self, store: Store, folder: LetterFolder, content: LetterContent, *, clock: Clock
    ) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder
        self._content = content
        self._seen: dict[str, _Seen] = {}
        self.ids: dict[str, str] = {}
        """The letters of the entries that were read, by the ids of these."""
        self.refused: dict[Path, str] = {}
        """Files that were changed and cannot be used, and why."""

    def read_all(self, states: Iterable[LetterState] = ()) -> Iterator[Kept]:
        """Yield every letter that has a place in the folder, newest job first."""
        for letter, job in self._letters(states):
            kept = self._kept(letter, job)
            if kept is not None:
                yield kept

    def read(self, letter_id: str) -> Kept | None:
        """Return one letter; None where there is none, or none with a place in the folder."""
        letter = self._store.letters.get(letter_id)
        if letter is None:
            return None
        return self._kept(letter, self._store.get([JobId(letter.id)]).get(JobId(letter.id)))

    def find(self, entry_id: str) -> Kept | None:
        """Return the letter of an entry, or None."""
        known = self.ids.get(entry_id)
        kept = None if known is None else self.read(known)
        if kept is not None and kept.entry.entry_id == entry_id:
            return kept
        moment = self._folder.form.moment_of(entry_id)
        began = None if moment is None else from_datetime(moment)
        for letter, job in self._letters(()):
            # What a letter says takes reading more, and most of them cannot be the one.
            if letter.kind != FILE and letter.deaths == 1 and letter.first_failure_at != began:
                continue
            kept = self._kept(letter, job)
            if kept is not None and kept.entry.entry_id == entry_id:
                return kept
        return None

    def moved(self) -> set[str]:
        """Return the ids of letters whose files may say something else than the store."""
        unresolved = [state for state in LetterState if state is not LetterState.RESOLVED]
        moved: set[str] = set()
        waiting = {letter_id for letter_id, seen in self._seen.items() if not seen.processed}
        for letter, job in self._letters(unresolved):
            waiting.discard(letter.id)
            seen = self._seen.get(letter.id)
            if seen is None or seen[0::2] != (_revisions(letter, job), _stat(seen.path)):
                moved.add(letter.id)
        return moved | waiting

    def follow(self, letter_id: str, *, overwrite: bool = False) -> bool:
        """Make the file of a letter say what the store says; return whether it was written.

        A payload that a person has changed there is kept; where it cannot be used, the file stays
        as it is for as long as nothing else moves, unless it is to be overwritten.
        """
        with self._folder.locked():
            kept = self.read(letter_id)
            if kept is None:
                self._seen.pop(letter_id, None)
                return False
            if not overwrite:
                edit = self._edit_of(kept)
                if edit is _Edit.UNUSABLE:
                    self._note(kept)
                    return False
                if edit is _Edit.TAKEN:
                    kept = self.read(letter_id) or kept
            changed = self._folder.write(kept.entry)
            if kept.entry.processed:
                self._folder.note_processed([kept.entry.entry_id])
            if kept.letter.deaths > 1:
                self._end_earlier(kept)
            self._note(kept)
        return changed

    def take_edit(self, kept: Kept, *, by: str) -> bool:
        """Keep the payload of a file that a person has changed, and return whether there is one.

        Raises `UsageError` for a file that cannot be used.
        """
        path = self._folder.path_of(kept.entry)
        found = self._folder.read(path)
        if found is None or kept.job is None or kept.entry.status not in _OPEN:
            return False
        same = dict(found.original_payload) == dict(kept.entry.original_payload)
        if same or not was_edited(found) or kept.entry.processed:
            return False
        if found.subject != kept.entry.subject:
            raise InvalidDocument(
                path.name,
                path=f"/{self._folder.form.subject_name}",
                found=found.subject,
                limit=kept.entry.subject,
            )
        self.keep_payload(kept, payload_of(found), by=by)
        return True

    def keep_payload(self, kept: Kept, payload: Any, *, by: str) -> None:  # noqa: ANN401 - JSON
        """Have the next replay of a letter's job send this, once it was checked."""
        if kept.job is None:
            raise UsageError(f"{kept.entry.entry_id} came from elsewhere and has no job to change")
        if kept.entry.processed or kept.entry.status not in _OPEN:
            raise UsageError(f"{kept.entry.entry_id} is {kept.entry.status}, and cannot be changed")
        checked = self._content.checked(kept.entry.operation_type, payload)
        self._content.replace(kept.letter.id, checked, by=by)

    def check(self, operation_type: str, payload: Mapping[str, Any]) -> None:
        """Raise `UsageError` for a payload that no replay could send."""
        self._content.checked(operation_type, payload)

    def _letters(self, states: Iterable[LetterState]) -> Iterator[tuple[DeadLetter, Job | None]]:
        wanted, before = LetterFilter(states=tuple(states)), None
        while page := self._store.letters.find(wanted, before=before, limit=PAGE):
            jobs = self._store.get([JobId(letter.id) for letter in page])
            for letter in page:
                yield letter, jobs.get(JobId(letter.id))
            before = page[-1].id

    def _kept(self, letter: DeadLetter, job: Job | None) -> Kept | None:
        form = self._folder.form
        try:
            if letter.kind == FILE:
                entry = entry_of(letter, None, form=form)
            elif letter.kind == MESSAGE or job is None:
                return None
            else:
                said = self._content.describe(LetterView(letter, job, self._clock.now()))
                if said is None:
                    return None
                entry = entry_of(
                    self._as_one_episode(letter), job, form=form, describe=lambda *_: said
                )
            form.check(entry)
        except UsageError as error:
            LOGGER.info("dead letter %s has no form as a file: %s", letter.id, error)
            return None
        self.ids[entry.entry_id] = letter.id
        return Kept(letter, None if letter.kind == FILE else job, entry)

    def _as_one_episode(self, letter: DeadLetter) -> DeadLetter:
        """Return a letter that tells of all failures at its stage, those before replays too."""
        if letter.deaths == 1:
            return letter
        last = self._episodes(letter)[-1]
        return letter._replace(first_failure_at=last.began_at, deaths=last.deaths)

    def _episodes(self, letter: DeadLetter) -> list[Episode]:
        found = episodes(line.entry for line in self._store.ledger(JobId(letter.id)))
        return found or [Episode(letter.stage, letter.first_failure_at, letter.deaths)]

    def _edit_of(self, kept: Kept) -> _Edit:
        """Keep what a person has changed in a file, if it can be used."""
        path = self._folder.path_of(kept.entry)
        seen = self._seen.get(kept.letter.id)
        moved = seen is not None and seen.revisions != _revisions(kept.letter, kept.job)
        self.refused.pop(path, None)
        try:
            return _Edit.TAKEN if self.take_edit(kept, by=BY_FILE) else _Edit.NONE
        except UsageError as error:
            if moved or kept.entry.status not in _OPEN:
                return _Edit.NONE
            self.refused[path] = str(error)
            return _Edit.UNUSABLE

    def _end_earlier(self, kept: Kept) -> None:
        """Close the files of stages that a replay got past before the job failed at another."""
        for episode in self._episodes(kept.letter)[:-1]:
            entry_id = self._folder.form.id_of(to_datetime(episode.began_at), kept.entry.subject)
            path = self._folder.find(entry_id)
            if path is None or episode.ended_at is None:
                continue
            try:
                found = self._folder.read(path)
            except UsageError:
                continue
            if found is None or found.processed:
                continue
            at = max(to_datetime(episode.ended_at), found.last_attempt)
            done = replace(found, status=EntryStatus.COMPLETED, processed=True, replayed_at=at)
            self._folder.write(done)
            self._folder.note_processed([entry_id])

    def _note(self, kept: Kept) -> None:
        path = self._folder.path_of(kept.entry)
        self._seen[kept.letter.id] = _Seen(
            _revisions(kept.letter, kept.job), path, _stat(path), kept.entry.processed
        )


def _revisions(letter: DeadLetter, job: Job | None) -> tuple[int, int | None]:
    return letter.revision, None if job is None or letter.kind == FILE else job.revision


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
