"""What the routes of grading go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from starlette.requests import Request

from grading.audio import SignedLinks, StoredAudio
from grading.main.callbacks import Callbacks
from grading.main.submissions import Submissions
from grading.questions import Questions
from holdfast import Holdfast


class AudioFiles(Protocol):
    """Where the content of recordings is."""

    def keep(self, chunks: Iterable[bytes]) -> StoredAudio:
        """Keep a recording as it comes; raise `NotAudio` or `AudioTooLarge`."""

    def path_of(self, sha256: str) -> Path | None:
        """Return where a recording is, None when it is gone."""


class Recordings(Protocol):
    """Whose recordings there are."""

    def check_upload(self, owner: str) -> None:
        """Raise a `Refused` where an owner may not send a recording now."""

    def add(self, stored: StoredAudio, *, owner: str) -> tuple[str, bool]:
        """Note a recording of an owner's; return its id, and whether it is new."""

    def find(self, audio_id: str, *, owner: str | None) -> StoredAudio:
        """Return a recording; raise `NotYours` for another's and for none."""

    def url_of(self, audio_id: str) -> str:
        """Return the link to a recording, without a signature."""

    @property
    def links(self) -> SignedLinks:
        """What checks signed links."""


class Served(NamedTuple):
    """What the routes go by."""

    app: Holdfast
    submissions: Submissions
    callbacks: Callbacks
    questions: Questions
    files: AudioFiles
    recordings: Recordings
    now: Callable[[], datetime]
    max_audio_bytes: int
    max_audio_s: float
    reviews: bool = False


def root_of(request: Request) -> str:
    """Return where the API is mounted."""
    return str(request.scope.get("root_path", ""))


def public_question(document: dict[str, Any]) -> dict[str, Any]:
    """Return a question as learners see it: without the words that answers are searched for."""
    return {name: value for name, value in document.items() if name != "keywords"}
