"""A folder of dead letters that is kept up to date, file by file.

Names are checked before they are used, links are not followed, and every file appears whole or not
at all, for its owner only.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from holdfast.errors import InvalidDocument
from holdfast.letter_files.files import (
    PROCESSED,
    path_of,
    processed_ids,
    read_entry,
    text_of,
    write_whole,
)
from holdfast.letter_files.form import WHAT, LetterEntry, LetterForm

_LOCK: Final = ".lock"


class LetterFolder:
    """The files of one form below a folder."""

    def __init__(self, root: Path, form: LetterForm) -> None:
        self.root = root
        self.form = form

    def path_of(self, entry: LetterEntry) -> Path:
        """Return where the file of an entry belongs."""
        return path_of(self.root, entry)

    def find(self, entry_id: str) -> Path | None:
        """Return the file of that name, whatever its operation; None where there is none."""
        if "/" in entry_id or entry_id.startswith("."):
            return None
        return next((path for path in self.paths() if path.stem == entry_id), None)

    def paths(self) -> Iterator[Path]:
        """Yield the files of entries, in the order of their names."""
        for path in sorted(self.root.glob("*/*.json")):
            if not any(part.startswith(".") for part in path.relative_to(self.root).parts):
                yield path

    def read(self, path: Path) -> LetterEntry | None:
        """Return the entry of a file; None where there is no file.

        Raises `InvalidDocument` for what breaks a rule, a link among it.
        """
        if path.is_symlink() or path.parent.is_symlink():
            raise InvalidDocument(WHAT, path="", found="a link", limit="a file")
        return read_entry(path, self.form) if path.exists() else None

    @contextmanager
    def locked(self) -> Generator[None]:
        """Have no other process write meanwhile what it has read before."""
        self._make(self.root)
        lock = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def write(self, entry: LetterEntry) -> bool:
        """Write the file of an entry, unless it says the same; return whether it was written."""
        path = self.path_of(entry)
        content = text_of(self.form.write(entry))
        if self._content(path) == content:
            return False
        self._make(path.parent)
        if path.parent.is_symlink():
            raise NotADirectoryError(f"{path.parent} is a link")
        write_whole(path, content)
        return True

    def note_processed(self, entry_ids: Collection[str]) -> None:
        """Add ids to those that nobody is to replay again."""
        try:
            known = processed_ids(self.root)
        except InvalidDocument:
            # It is made of what the store knows; what cannot be read is made anew.
            known = set()
        if not known >= set(entry_ids):
            write_whole(self.root / PROCESSED, text_of(sorted(known | set(entry_ids))))

    def _make(self, folder: Path) -> None:
        """Make a folder and those above it, each for its owner only."""
        if folder.is_dir():
            return
        if not folder.parent.is_dir():
            self._make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)

    def _content(self, path: Path) -> bytes | None:
        try:
            return None if path.is_symlink() else path.read_bytes()
        except OSError:
            return None
