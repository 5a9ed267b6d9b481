"""The tools that change something: each is called twice, and says first what it would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from holdfast.api.models.jobs import JobSummary
from holdfast.core.dead_letter.dead_letter import Cause, LetterState
from holdfast.core.job.job import JobState
from holdfast.engine.app import Holdfast
from holdfast.engine.dead_letters.replay_terms import DEFAULT_CANARY
from holdfast.errors import ConflictError
from holdfast.mcp.answers import JOB, LETTER, PREVIEW, Answer, noted, parted
from holdfast.mcp.confirmations import VALID_S, Confirmations, Intent
from holdfast.views.job import JobView

_ASKS: Final = (
    "Nothing was changed. Show this to the person you act for; only if they agree, call the tool "
    "again with the same arguments and this confirmation."
)

Reason = Annotated[str, Field(description="Why; kept in the audit log.")]
Confirmation = Annotated[
    str | None,
    Field(description="What the same call answered before; leave it out to see what would happen."),
]
Evidence = Annotated[str, Field(description="How it is known that the cause is gone.")]


class Acting:
    """Does what an operator may, as the person `by`, and only what was confirmed."""

    def __init__(self, app: Holdfast, *, by: str, confirmations: Confirmations) -> None:
        self._app = app
        self._by = by
        self._confirmations = confirmations
        self._shown = app.disclosure(end_user=False)

    def tools(self) -> list[Callable[..., Answer]]:
        """Return the tools."""
        return [
            self.retry_job,
            self.cancel_job,
            self.replay_dead_letter,
            self.replay_group,
            self.pause_queue,
            self.resume_queue,
        ]

    def retry_job(
        self,
        *,
        job_id: str,
        reason: Reason,
        from_start: bool = False,
        confirmation: Confirmation = None,
    ) -> Answer:
        """Send a failed job back to the stage that failed, or to the start, with a new budget."""
        view = self._app.job(job_id)
        if view.state is not JobState.FAILED:
            raise ConflictError(f"job {view.id} is {view.state}; only failed jobs are sent back")
        intent = Intent(
            "retry_job",
            {"job_id": job_id, "reason": reason, "from_start": from_start},
            view.job.revision,
        )
        return self._confirmed(
            confirmation,
            intent,
            {"job": self._job(view)},
            lambda: {
                "job": self._job(
                    self._app.retry(
                        job_id, by=self._by, reason=reason, from_start=from_start, operator=True
                    )
                )
            },
        )

    def cancel_job(
        self, *, job_id: str, reason: Reason, confirmation: Confirmation = None
    ) -> Answer:
        """End a job that has not ended; what its handler may still return is refused."""
        view = self._app.job(job_id)
        intent = Intent(
            "cancel_job", {"job_id": job_id, "reason": reason}, [view.job.revision, view.state]
        )
        return self._confirmed(
            confirmation,
            intent,
            {"job": self._job(view)},
            lambda: {"job": self._job(self._app.cancel(job_id, by=self._by, reason=reason))},
        )

    def replay_dead_letter(
        self,
        *,
        letter_id: str,
        cause: Cause,
        evidence: Evidence,
        reason: Reason,
        confirm_idempotent: bool = False,
        confirmation: Confirmation = None,
    ) -> Answer:
        """Send the job of one dead letter back, and say what the cause was and that it is gone.

        `confirm_idempotent` says that repeating a job without an idempotency key does no harm.
        """
        view = self._app.dead.get(letter_id)
        found = {"letter": parted(self._shown.letter(view).to_document(), LETTER)}
        arguments = {
            "letter_id": letter_id,
            "cause": cause.value,
            "evidence": evidence,
            "reason": reason,
            "confirm_idempotent": confirm_idempotent,
        }

        def replay() -> Mapping[str, Any]:
            dead = self._app.dead
            if view.letter.state is not LetterState.REMEDIATED:
                dead.ready(view.letter, cause=cause, evidence=evidence, by=self._by)
            after = dead.replay(
                letter_id, by=self._by, reason=reason, confirm_idempotent=confirm_idempotent
            )
            return {"letter": parted(self._shown.letter(after).to_document(), LETTER)}

        intent = Intent("replay_dead_letter", arguments, view.letter.revision)
        return self._confirmed(confirmation, intent, found, replay)

    def replay_group(
        self,
        *,
        fingerprint: str,
        cause: Cause,
        evidence: Evidence,
        reason: Reason,
        canary: Annotated[int, Field(ge=0, le=1_000)] = DEFAULT_CANARY,
        confirm_idempotent: bool = False,
        confirmation: Confirmation = None,
    ) -> Answer:
        """Replay the dead letters of one cause, in the background: a few first, then the rest.

        The server of holdfast (up, serve or dev) sends them. `canary` is how many have to succeed
        first.
        """
        found = self._app.replays.preview(
            fingerprint, confirm_idempotent=confirm_idempotent, readied=True
        )
        arguments = {
            "fingerprint": fingerprint,
            "cause": cause.value,
            "evidence": evidence,
            "reason": reason,
            "canary": canary,
            "confirm_idempotent": confirm_idempotent,
        }

        def start() -> Mapping[str, Any]:
            started = self._app.replays.start(
                fingerprint,
                fingerprint,
                by=self._by,
                reason=reason,
                canary=canary,
                confirm_idempotent=confirm_idempotent,
                cause=cause,
                evidence=evidence,
                hand_over=True,
            )
            return {"replay": {"id": started.id, "letters": started.counts.total}}

        return self._confirmed(
            confirmation,
            Intent("replay_group", arguments, [found.letters, found.ready]),
            {"replay": parted(found.to_document(), PREVIEW)},
            start,
        )

    def pause_queue(
        self, *, queue: str, reason: Reason, confirmation: Confirmation = None
    ) -> Answer:
        """Stop workers from taking jobs of a queue; what runs goes on."""
        intent = Intent("pause_queue", {"queue": queue, "reason": reason}, None)
        return self._confirmed(
            confirmation,
            intent,
            {"queue": queue, "known": self._app.knows_queue(queue)},
            lambda: {"changed": self._app.pause_queue(queue, by=self._by, reason=reason)},
        )

    def resume_queue(
        self, *, queue: str, reason: Reason, confirmation: Confirmation = None
    ) -> Answer:
        """Let workers take jobs of a paused queue again."""
        intent = Intent("resume_queue", {"queue": queue, "reason": reason}, None)
        return self._confirmed(
            confirmation,
            intent,
            {"queue": queue, "known": self._app.knows_queue(queue)},
            lambda: {"changed": self._app.resume_queue(queue, by=self._by, reason=reason)},
        )

    def _confirmed(
        self,
        confirmation: str | None,
        intent: Intent,
        would_change: Mapping[str, Any],
        act: Callable[[], Mapping[str, Any]],
    ) -> Answer:
        """Act if this call was confirmed; else say what it would change, and how to confirm it."""
        if confirmation is None:
            return noted(
                next_step=_ASKS,
                tool=intent.tool,
                would_change=dict(would_change),
                confirmation=self._confirmations.give(intent),
                valid_s=VALID_S,
            )
        self._confirmations.take(confirmation, intent)
        return noted(done=intent.tool, by=self._by, **act())

    def _job(self, view: JobView) -> Answer:
        return parted(JobSummary.of(view, self._shown).model_dump(mode="json"), JOB)
