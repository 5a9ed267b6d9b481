"""Main's side, opened for a command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from grading.audio import AudioStore
from grading.config import SYSTEM_NAME, GradingConfig
from grading.dead_requests import DeadRequests
from grading.grader.opening import open_audio
from grading.main.callbacks import Callbacks
from grading.main.recordings import refusing_uploads
from grading.main.side import MainSide
from grading.main.submissions import Submissions
from grading.system import SECRET_NAMES, TABLES
from holdfast import Holdfast
from holdfast.variables import Variables

DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
_CHUNK_BYTES: Final = 256 * 1024


class KeptAudio(NamedTuple):
    """A recording of which main has a copy."""

    url: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What commands work with."""

    config: GradingConfig
    app: Holdfast
    submissions: Submissions
    callbacks: Callbacks
    dead_requests: DeadRequests
    audio: AudioStore

    def keep_audio(self, path: Path, *, owner: str) -> KeptAudio:
        """Store a recording as an upload of that owner, and return the link to it."""
        with path.open("rb") as file, refusing_uploads():
            stored = self.audio.keep(iter(lambda: file.read(_CHUNK_BYTES), b""))
        recordings = self.submissions.recordings
        audio_id, _ = recordings.add(stored, owner=owner)
        return KeptAudio(recordings.url_of(audio_id), stored.seconds)


@contextmanager
def opened() -> Iterator[Opened]:
    """Open main's database, and close it afterwards."""
    config = GradingConfig.from_environment(os.environ)
    main = MainSide(config)
    with Holdfast(database_url(), pipelines=[main.pipeline], tables={SYSTEM_NAME: TABLES}) as app:
        app.add_secrets((), names=SECRET_NAMES)
        main.bind(app)
        submissions = main.submissions()
        yield Opened(
            config=config,
            app=app,
            submissions=submissions,
            callbacks=main.callbacks,
            dead_requests=DeadRequests(app, retry=submissions.retry),
            audio=open_audio(config),
        )


def database_url() -> str:
    """Return where submissions are kept, as `holdfast up` finds it."""
    given = Variables.of(os.environ)
    plain = given.text("DATABASE_URL", DEFAULT_DATABASE_URL)
    return given.text("HOLDFAST_DATABASE_URL", plain)
