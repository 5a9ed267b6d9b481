"""The tools that look at jobs and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import Field

from holdfast.api.models.attention import AttentionEntry
from holdfast.api.models.dead_letters import DeadLetterGroup
from holdfast.api.models.jobs import JobDocument, JobEvent, JobSummary
from holdfast.api.models.queues import Queue
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.job.job import JobState
from holdfast.engine.app import Holdfast
from holdfast.mcp.answers import (
    EVENT,
    GROUP,
    JOB,
    LETTER,
    NEED,
    PREVIEW,
    QUEUE,
    Answer,
    listed,
    noted,
    parted,
)
from holdfast.store.contract import JobFilter
from holdfast.store.tables.dead_letters import LetterFilter

PAGE: Final = 20
HISTORY: Final = 50
"""How many of the latest events of a job are shown."""

Limit = Annotated[int, Field(ge=1, le=100)]


class Looking:
    """Reads an application as operators do in the console, with secrets hidden as there."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app
        self._shown = app.disclosure(end_user=False)

    def tools(self) -> list[Callable[..., Answer]]:
        """Return the tools."""
        return [
            self.list_attention,
            self.list_queues,
            self.list_jobs,
            self.get_job,
            self.list_dead_letter_groups,
            self.list_dead_letters,
            self.get_dead_letter,
            self.preview_replay,
        ]

    def list_attention(self) -> Answer:
        """List everything that needs a person, the most urgent first. Begin here."""
        found = self._app.attention()
        return listed((AttentionEntry.of(entry).model_dump(mode="json") for entry in found), NEED)

    def list_queues(self) -> Answer:
        """List the queues: how many jobs wait or run in each, and whether it is paused."""
        found = self._app.queues()
        return listed((Queue.of(counts).model_dump(mode="json") for counts in found), QUEUE)

    def list_jobs(
        self,
        *,
        state: list[JobState] | None = None,
        pipeline: str | None = None,
        queue: str | None = None,
        error_class: str | None = None,
        before: str | None = None,
        limit: Limit = PAGE,
    ) -> Answer:
        """List jobs, newest first, without their payloads. `before` is `next` of the last page."""
        wanted = JobFilter(
            states=tuple(state or ()), pipeline=pipeline, queue=queue, error_class=error_class
        )
        page = self._app.jobs(wanted, before=before, limit=limit)
        return listed(
            (
                JobSummary.of(view, self._shown).model_dump(mode="json")
                for view in self._app.labelled(page)
            ),
            JOB,
            next=page[-1].id if len(page) == limit else None,
        )

    def get_job(self, job_id: str) -> Answer:
        """Read a job: why it waits or failed, what happened to it, its payload and its result."""
        app = self._app
        (view,) = app.labelled([app.job(job_id)])
        history = app.history(job_id)
        document = JobDocument.of(
            view,
            self._shown,
            keeps=view.state is JobState.FAILED and app.keeps_personal_data(view.job),
            without=app.secret_names(view.job),
        )
        waiting = [each.to_document() for each in app.waits.of(view, history, recent=True)]
        shown: dict[str, Any] = document.model_dump(mode="json") | {"waiting": waiting}
        events = [JobEvent.of(line).model_dump(mode="json") for line in history[-HISTORY:]]
        return noted(job=parted(shown, JOB), history=[parted(event, EVENT) for event in events])

    def list_dead_letter_groups(self, limit: Limit = PAGE) -> Answer:
        """List the causes for which dead letters wait, the one with most letters first."""
        groups = self._app.dead.groups(limit=limit)
        shown = (DeadLetterGroup.of(each, self._shown) for each in groups)
        return listed((each.model_dump(mode="json") for each in shown), GROUP)

    def list_dead_letters(
        self,
        *,
        fingerprint: str | None = None,
        state: list[LetterState] | None = None,
        pipeline: str | None = None,
        error_class: str | None = None,
        before: str | None = None,
        limit: Limit = PAGE,
    ) -> Answer:
        """List dead letters, newest first. `fingerprint` is the cause, as the groups name it."""
        wanted = LetterFilter(
            states=tuple(state or ()),
            fingerprint=fingerprint,
            pipeline=pipeline,
            error_class=error_class,
        )
        page = self._app.dead.find(wanted, before=before, limit=limit)
        documents = (self._shown.letter(view).to_document() for view in page)
        return listed(documents, LETTER, next=page[-1].id if len(page) == limit else None)

    def get_dead_letter(self, letter_id: str) -> Answer:
        """Read all that is known of a dead letter: its failure, whose move it is, what was done."""
        report = self._app.dead.show(letter_id)
        return noted(letter=parted(self._shown.letter_report(report).to_document(), LETTER))

    def preview_replay(self, *, fingerprint: str, confirm_idempotent: bool = False) -> Answer:
        """Tell what a replay of the dead letters of one cause would send, and change nothing.

        `confirm_idempotent` says that repeating jobs without an idempotency key does no harm.
        """
        found = self._app.replays.preview(
            fingerprint, confirm_idempotent=confirm_idempotent, readied=True
        )
        return noted(replay=parted(found.to_document(), PREVIEW))
