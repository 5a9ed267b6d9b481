"""Dead letters as files: to look at, to move between systems, and to keep up to date."""

from holdfast.letter_files.content import JobPayloads, LetterContent
from holdfast.letter_files.entry import Describe, Described
from holdfast.letter_files.files import (
    PROCESSED,
    FileResult,
    LetterFiles,
    Outcome,
    Submit,
    write_whole,
)
from holdfast.letter_files.form import PLAIN_FORM, EntryStatus, LetterEntry, LetterForm
from holdfast.letter_files.keeper import Kept
from holdfast.letter_files.mirror import LetterMirror, Refusal, Synced

__all__ = [
    "PLAIN_FORM",
    "PROCESSED",
    "Describe",
    "Described",
    "EntryStatus",
    "FileResult",
    "JobPayloads",
    "Kept",
    "LetterContent",
    "LetterEntry",
    "LetterFiles",
    "LetterForm",
    "LetterMirror",
    "Outcome",
    "Refusal",
    "Submit",
    "Synced",
    "write_whole",
]
