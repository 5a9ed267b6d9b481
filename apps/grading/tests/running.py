"""Grading with real workers and relays, in threads of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from apps.grading.tests.sides import ESSAY
from grading.config import GradingConfig
from grading.grader.tools import Tools
from grading.main.submissions import Submissions, Wanted
from grading.main.views.view import SubmissionView
from grading.system import Sides, parts_of, sides_of
from holdfast import Holdfast
from holdfast.systems import Service
from holdfast.workers import WorkerOptions

LIMIT_S = 40.0


def wait_for(condition: Callable[[], Any], *, limit_s: float = LIMIT_S, what: str = "") -> Any:
    """Return what a condition returns, once that is true."""
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {limit_s} s: {what or condition}")


@contextmanager
def running(*services: Service) -> Iterator[None]:
    """Run services in threads, and end them."""
    threads = [
        threading.Thread(target=service.run, kwargs={"handle_signals": False}, daemon=True)
        for service in services
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for service in services:
            service.request_stop()
        for thread in threads:
            thread.join(20)


class Embedded:
    """Both sides in one process, as `make run` has them."""

    def __init__(self, app: Holdfast, sides: Sides) -> None:
        self.app = app
        self.sides = sides
        self.faults = sides.faults
        self.submissions: Submissions = sides.main.submissions()

    def submit(self, *, text: str = ESSAY, owner: str = "lan", key: str | None = None) -> str:
        wanted = Wanted(skill="writing", question_id="w2-tourism", text=text)
        return self.submissions.submit(wanted, owner=owner, key=key).view.submission_id

    def ended(self, submission_id: str, *, limit_s: float = LIMIT_S) -> SubmissionView:
        """Return a submission once it has ended."""

        def view() -> SubmissionView | None:
            found = self.submissions.get(submission_id, owner=None)
            return found if found.has_ended else None

        return wait_for(view, limit_s=limit_s, what=f"the end of {submission_id}")


@contextmanager
def embedded(
    url: str,
    folder: Path,
    *,
    tools: Tools | None = None,
    options: Mapping[str, Any] | None = None,
    **given: Any,
) -> Iterator[Embedded]:
    """Run both sides on a database, with recordings in a folder; `given` are settings."""
    config = GradingConfig(**{"audio_dir": folder / "audio", "outbox_poll_s": 0.2, **given})
    sides = sides_of(config, tools=tools)
    parts = parts_of(sides)
    with ExitStack() as opened:
        app = opened.enter_context(
            Holdfast(
                url,
                pipelines=parts.pipelines,
                tables={"grading": parts.tables or ""},
                secret_names=parts.secret_names,
            )
        )
        parts.bind(app)
        worker = app.worker(options=WorkerOptions(**{"lease": 5.0, **(options or {})}))
        services = [make(app) for make in parts.services.values()]
        opened.enter_context(running(worker, *services))
        yield Embedded(app, sides)
