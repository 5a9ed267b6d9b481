"""Dead letters as files that are kept up to date while programs run.

The store is the truth, and the files follow it: within a moment of what this process does, and
within a look of what others do. A person may change the payload in a file; after it was checked,
that is what a replay sends. Nothing here delays or fails a job: what cannot be written is written
later, and meanwhile it needs a person.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from holdfast.core.dead_letter.dead_letter import WAITING
from holdfast.core.job.decision import Kind
from holdfast.core.job.job import ENDED
from holdfast.engine.app import Holdfast
from holdfast.engine.attention import Need
from holdfast.errors import HoldfastError, UnknownLetter, UsageError
from holdfast.letter_files.content import JobPayloads, LetterContent
from holdfast.letter_files.entry import job_id_of, letter_id_of, payload_of
from holdfast.letter_files.files import LetterFiles, Outcome
from holdfast.letter_files.folder import LetterFolder
from holdfast.letter_files.form import PLAIN_FORM, LetterEntry, LetterForm
from holdfast.letter_files.keeper import Kept, LetterKeeper
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.kernel.clock import monotonic_s

LOGGER: Final = logging.getLogger("holdfast.letters")
LOOK_EVERY_S: Final = 15.0
RETRY_S: Final = 1.0
"""How long a folder that cannot be written is left alone."""
COMPLAIN_EVERY_S: Final = 60.0
SHARE: Final = 20
"""Looking takes at most one part in so many of the time."""


class Refusal(NamedTuple):
    """A file that cannot be used, and why."""

    path: Path
    why: str


class Synced(NamedTuple):
    """What a sync has done."""

    written: int
    """Files that were not there, or said something else."""
    restored: int
    """Those among them that were there and broke a rule."""
    imported: int
    """Letters that were made of files which nobody here had written."""
    refused: tuple[Refusal, ...]


class LetterMirror:
    """Keeps the files of dead letters, and does what people ask about them.

    A service: `run` until `request_stop`, or `start` and `close` with a thread of its own. `form`
    has the names that stand in the files, `content` says what of a letter does.
    """

    def __init__(
        self,
        app: Holdfast,
        folder: Path | str,
        *,
        form: LetterForm = PLAIN_FORM,
        content: LetterContent | None = None,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self.folder = LetterFolder(Path(folder), form)
        self._app = app
        self._content = content or JobPayloads(app)
        self._keeper: LetterKeeper | None = None
        self._look_every_s = look_every_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._writing = threading.Lock()
        self._dirty: set[str] = set()
        self._error: OSError | None = None
        self._complained_at_s: float | None = None
        self._thread: threading.Thread | None = None
        self._leave: Callable[[], None] = app.subscribe(self._on_applied)
        app.add_needs(lambda _: self.needs())

    def run(self, *, handle_signals: bool = True) -> int:
        """Keep the files up to date until `request_stop` is called."""
        del handle_signals
        look_at_s = monotonic_s()
        while not self._stopping.is_set():
            self._wake.clear()
            began_s = monotonic_s()
            try:
                if began_s >= look_at_s:
                    self._dirty.update(self._kept().moved())
                    took_s = monotonic_s() - began_s
                    look_at_s = monotonic_s() + max(self._look_every_s, SHARE * took_s)
                self.flush()
            except HoldfastError as error:
                LOGGER.info("dead letters cannot be read: %s", error)
                self._stopping.wait(RETRY_S)
                continue
            if self._error is not None:
                self._stopping.wait(RETRY_S)
            else:
                self._wake.wait(max(look_at_s - monotonic_s(), 0.0))
        self.flush()
        self._leave()
        return 0

    def request_stop(self) -> None:
        """Have `run` return soon."""
        self._stopping.set()
        self._wake.set()

    def start(self) -> Self:
        """Keep the files up to date in a thread, until `close`."""
        self._thread = threading.Thread(target=self.run, name="holdfast-letters", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Write what is left to write, and keep the files no more."""
        self.request_stop()
        if self._thread is None:
            self.flush()
            self._leave()
            return
        self._thread.join()
        self._thread = None

    def needs(self) -> list[Need]:
        """Return what needs a person: a folder that cannot be written, files nobody can use."""
        found = []
        if (error := self._error) is not None:
            found.append(
                Need(
                    subject=f"dead letter files: {self.folder.root}",
                    sentence=f"{len(self._dirty)} dead letters cannot be written to "
                    f"{self.folder.root}: {error.strerror or error}",
                    advice="Make room there, or the folder writable. Jobs are not affected, and "
                    "the files follow.",
                    label="Look at the dead letters",
                    path="/dead",
                    urgency="critical",
                )
            )
        refused = self._kept().refused
        if refused:
            path, why = next(iter(refused.items()))
            found.append(
                Need(
                    subject=f"dead letter files that cannot be used: {self.folder.root}",
                    sentence=f"{path.name} was changed and cannot be used: {why}",
                    advice="Mend the file, or have it written anew by a sync.",
                    label="Look at the dead letters",
                    path="/dead",
                    count=len(refused),
                )
            )
        return found

    def flush(self) -> None:
        """Write the files of the letters that have moved."""
        with self._writing:
            while self._dirty:
                letter_id = self._dirty.pop()
                try:
                    self._kept().follow(letter_id)
                except OSError as error:
                    self._dirty.add(letter_id)
                    self._complain(error)
                    return
                except BaseException:
                    self._dirty.add(letter_id)
                    raise
            self._error = None

    def entries(self) -> Iterator[Kept]:
        """Yield every letter that has a place in the folder, as the store has it, newest first."""
        yield from self._kept().read_all()

    def get(self, entry_id: str) -> Kept:
        """Return the entry of that id, or raise `UnknownLetter`."""
        kept = self._kept().find(entry_id)
        if kept is None:
            raise UnknownLetter(entry_id)
        return kept

    def replace(self, entry_id: str, payload: Mapping[str, Any], *, by: str) -> Kept:
        """Have a replay send another payload, after it was checked; the file says so, too."""
        kept = self.get(entry_id)
        self._kept().keep_payload(kept, payload, by=by)
        return self._followed(kept.letter.id, overwrite=True)

    def replay(
        self,
        entry_id: str,
        *,
        by: str,
        reason: str | None = None,
        confirm_idempotent: bool = False,
    ) -> Kept:
        """Send the job of an entry back, with the payload of the file if it was changed.

        Raises `InvalidDocument` for a file that breaks a rule, and `StepMissing` for an entry that
        is being replayed or is done with.
        """
        kept = self.get(entry_id)
        if kept.job is None:
            raise UsageError(
                f"{entry_id} came from elsewhere and has no job; submit dead letter "
                f"{kept.letter.id} to a pipeline"
            )
        self._kept().take_edit(kept, by=by)
        dead, letter_id = self._app.dead, kept.letter.id
        why = reason or f"replay of {entry_id}"
        letter = dead.get(letter_id).letter
        if letter.state in WAITING:
            dead.ready(letter, cause="transient", evidence=why, by=by)
        dead.replay(letter_id, by=by, reason=why, confirm_idempotent=confirm_idempotent)
        return self._followed(letter_id)

    def keep(self, entry: LetterEntry, *, by: str) -> Kept:
        """Make a letter of what failed outside of jobs, and write its file."""
        self.folder.form.check(entry)
        self._files().take(entry, by, processed=entry.processed)
        return self._followed(letter_id_of(entry.entry_id))

    def complete(self, entry_id: str, *, by: str, reason: str) -> Kept:
        """Close an entry by hand: nobody is to replay it."""
        kept = self.get(entry_id)
        self._app.dead.resolve(kept.letter.id, note=reason, by=by, unreplayed=True)
        return self._followed(kept.letter.id)

    def sync(self, *, by: str) -> Synced:
        """Make every file say what the store says, and letters of files that nobody knows.

        What a person changed and is valid stays. A file that breaks a rule is written anew where
        the store has its letter, and refused where it has not. Raises `OSError` where the folder
        cannot be written.
        """
        keeper, written, restored = self._kept(), 0, 0
        known: set[Path] = set()
        with self._writing:
            for kept in keeper.read_all():
                path = self.folder.path_of(kept.entry)
                known.add(path)
                broken = path in keeper.refused or self._is_broken(path)
                changed = keeper.follow(kept.letter.id, overwrite=broken)
                keeper.refused.pop(path, None)
                written += changed
                restored += changed and broken
        imported, refused = self._import_others(known, by)
        return Synced(written, restored, imported, tuple(refused))

    def _kept(self) -> LetterKeeper:
        # Opens the store when it is needed, and not before.
        if self._keeper is None:
            self._keeper = LetterKeeper(
                self._app.store, self.folder, self._content, clock=self._app.clock
            )
        return self._keeper

    def _import_others(self, known: set[Path], by: str) -> tuple[int, list[Refusal]]:
        imported, refused = 0, []
        files = self._files()
        for path in self.folder.paths():
            if path in known:
                continue
            try:
                entry = self.folder.read(path)
                if entry is None or job_id_of(entry) is not None:
                    continue
                self._kept().check(entry.operation_type, payload_of(entry))
                outcome = files.take(entry, by, processed=entry.processed)
            except UsageError as error:
                refused.append(Refusal(path, str(error)))
            else:
                imported += outcome is Outcome.IMPORTED
        return imported, refused

    def _files(self) -> LetterFiles:
        app = self._app
        return LetterFiles(
            app.store, clock=app.clock, dead=app.dead, submit=app.submit, form=self.folder.form
        )

    def _is_broken(self, path: Path) -> bool:
        try:
            self.folder.read(path)
        except UsageError:
            return True
        return False

    def _on_applied(self, applied: Applied) -> None:
        job, decision = applied
        again = job.retries > 0 and decision.change.state in ENDED
        if decision.buries or again or decision.entry.kind is Kind.REVIVED:
            self._dirty.add(job.id)
            self._wake.set()

    def _followed(self, letter_id: str, *, overwrite: bool = False) -> Kept:
        """Return a letter as it stands now, its file written if that can be."""
        keeper = self._kept()
        with self._writing:
            try:
                keeper.follow(letter_id, overwrite=overwrite)
            except OSError as error:
                self._dirty.add(letter_id)
                self._complain(error)
        kept = keeper.read(letter_id)
        if kept is None:
            raise UnknownLetter(letter_id)
        return kept

    def _complain(self, error: OSError) -> None:
        self._error = error
        now_s = monotonic_s()
        if self._complained_at_s is None or now_s - self._complained_at_s >= COMPLAIN_EVERY_S:
            self._complained_at_s = now_s
            LOGGER.error(
                "dead letters cannot be written to %s: %s; jobs go on, and the files follow",
                self.folder.root,
                error,
                extra={"event": "letter_files_failed", "letters": len(self._dirty)},
            )
