"""The grader, put together: its pipelines, and what takes requests."""

from __future__ import annotations

from grading.config import GradingConfig
from grading.grader.dlq import DeadLetterQueue
from grading.grader.intake import Intake
from grading.grader.pipelines import grading_pipelines
from grading.grader.tools import Tools
from holdfast import Holdfast, Pipeline


class GraderSide:
    """Takes requests, grades and calls back. `bind` gives it its application."""

    def __init__(self, config: GradingConfig, tools: Tools) -> None:
        self.config = config
        self._app: Holdfast | None = None
        self._grading = grading_pipelines(self.application, tools, config)
        self.intake = Intake(
            self.application,
            self._grading.pipelines,
            late_grace_s=config.late_grace_s,
            redact_dlq=config.redacts_dlq,
        )
        self.dead_letters = DeadLetterQueue(self.application, redact=config.redacts_dlq)

    @property
    def pipelines(self) -> list[Pipeline]:
        """The pipelines of both skills."""
        return list(self._grading.pipelines.values())

    def bind(self, app: Holdfast) -> None:
        """Work on this application from now on."""
        self._app = app

    def application(self) -> Holdfast:
        """Return the application."""
        if self._app is None:
            raise RuntimeError("the grader has no application yet: bind() it first")
        return self._app
