"""Main, put together: its pipeline, and what works on an application once there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from grading.config import GradingConfig
from grading.main.callbacks import Callbacks
from grading.main.pipeline import submission_pipeline
from grading.main.questions import AddedQuestions
from grading.main.recordings import Recordings
from grading.main.submissions import Submissions
from grading.questions import Questions, packaged
from holdfast import Holdfast
from holdfast.messaging import Received

_T = TypeVar("_T")


class MainSide:
    """Takes submissions and the callbacks about them. `bind` gives it its application."""

    def __init__(self, config: GradingConfig) -> None:
        self.config = config
        self.pipeline = submission_pipeline(
            questions=lambda: self.questions,
            recordings=lambda: self.recordings,
            late_grace_s=config.late_grace_s,
        )
        self.broker_connected: Callable[[], bool | None] = lambda: None
        """Return whether the broker takes messages; None where nobody knows yet."""
        self._app: Holdfast | None = None
        self._added: AddedQuestions | None = None
        self.questions: Questions = packaged()
        self._recordings: Recordings | None = None
        self._callbacks: Callbacks | None = None

    def bind(self, app: Holdfast) -> None:
        """Work on this application from now on."""
        self._app = app
        self._added = AddedQuestions(app)
        self.questions = self._added.registry()
        config = self.config
        self._recordings = Recordings(
            app,
            public_url=config.public_url,
            per_minute=config.uploads_per_minute,
            quota_bytes=config.audio_quota_bytes,
        )
        self._callbacks = Callbacks(app, review_below=config.review_below)

    @property
    def app(self) -> Holdfast:
        """The application."""
        return _bound(self._app)

    @property
    def recordings(self) -> Recordings:
        """Whose recordings there are."""
        return _bound(self._recordings)

    @property
    def callbacks(self) -> Callbacks:
        """What takes callbacks."""
        return _bound(self._callbacks)

    def handle_callback(self, received: Received) -> None:
        """Take a callback message."""
        self.callbacks.handle(received)

    def handle_callbacks(self, received: Sequence[Received]) -> None:
        """Take callback messages together."""
        self.callbacks.handle_many(received)

    def _broker_connected(self) -> bool | None:
        return self.broker_connected()

    def submissions(self) -> Submissions:
        """Return what HTTP and commands call."""
        return Submissions(
            self.app,
            self.pipeline,
            config=self.config,
            questions=self.questions,
            recordings=self.recordings,
            broker_connected=self._broker_connected,
        )


def _bound(value: _T | None) -> _T:
    if value is None:
        raise RuntimeError("main has no application yet: bind() it first")
    return value
