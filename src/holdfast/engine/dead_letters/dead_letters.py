"""Dead letters, and what people do about them: find, triage, remediate, replay, resolve."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.dead_letter.dead_letter import (
    MESSAGE,
    Cause,
    DeadLetter,
    LetterEvent,
    LetterState,
    Refused,
    Remediated,
    ReplayAsked,
    Resolved,
    Triaged,
)
from holdfast.core.dead_letter.lifecycle import decide_letter
from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.doubt import can_be_settled
from holdfast.core.job.event import Event, RetryRequested
from holdfast.core.job.job import Job
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import NewMessage
from holdfast.engine.arguments import PAGE, checked_limit
from holdfast.engine.dead_letters.steps import (
    checked_cause,
    checked_letter_id,
    checked_note,
    decided,
    record_of,
)
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import (
    StaleRevision,
    UnknownJob,
    UnknownLetter,
    UsageError,
    WrongState,
)
from holdfast.runtime.deliveries.provider import BoundProvider, Providers
from holdfast.runtime.events.presentation import PresentationOf, plain
from holdfast.runtime.events.settle import Settled
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT, LetterFilter, LetterGroup
from holdfast.views.dead_letter import LetterReport, LetterView, failure_of
from holdfast.views.delivery import DeliveryView
from holdfast.views.job import history

TRIES: Final = 8
_FACTS_OF_THE_PAST: Final = 100

Settle = Callable[[str, Callable[[Job], Event]], Settled]


class DeadLetters:
    """The dead letters of a store."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        settle: Settle,
        providers: Providers | None = None,
        shown_as: PresentationOf = plain,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settle = settle
        self._providers = providers or Providers()
        self._shown_as = shown_as

    def find(
        self,
        wanted: LetterFilter | None = None,
        *,
        before: str | None = None,
        limit: int = PAGE,
        owner: str | None = None,
    ) -> list[LetterView]:
        """Return matching letters, newest job first; the last id is `before` of the next page.

        With `owner`, here and in what follows, a letter of another owner is as unknown as one
        that is not there.
        """
        checked_limit("dead letters", limit)
        below = None if before is None else checked_letter_id(before)
        chosen = owned(wanted or LetterFilter(), owner)
        if chosen is None:
            return []
        page = self._store().letters.find(chosen, before=below, limit=limit)
        jobs = self._store().get([JobId(letter.id) for letter in page])
        now = self._clock.now()
        doubts = self._in_doubt(page)
        return [
            replace(
                self._view(letter, jobs.get(JobId(letter.id)), now), in_doubt=letter.id in doubts
            )
            for letter in page
        ]

    def groups(
        self, *, limit: int = PAGE, owner: str | None = None, fingerprint: str | None = None
    ) -> list[LetterGroup]:
        """Return the causes for which letters wait, the one with most letters first.

        With `fingerprint` that cause alone.
        """
        checked_limit("dead letters", limit)
        return self._store().letters.groups(owner=owner, limit=limit, fingerprint=fingerprint)

    def times(
        self, fingerprint: str, *, first: Instant, step_us: int, owner: str | None = None
    ) -> dict[int, int]:
        """Return how many waiting letters of a cause failed last in each span after `first`."""
        rows = self._store().letters
        return rows.times(fingerprint, first=first, step_us=step_us, owner=owner)

    def get(self, letter_id: str, *, owner: str | None = None) -> LetterView:
        """Read a letter, or raise `UnknownLetter`."""
        letter, job = self._read(letter_id, owner)
        view = self._view(letter, job, self._clock.now())
        return replace(view, in_doubt=bool(self._in_doubt([letter])))

    def show(self, letter_id: str, *, owner: str | None = None) -> LetterReport:
        """Return all that is known of a letter, its job's history and the audit log included."""
        view = self.get(letter_id, owner=owner)
        store, job = self._store(), view.job
        plan = None if job is None else store.load_plan(job.pipeline, job.plan)
        stage = None if plan is None else plan.stage(view.letter.stage)
        sent = self._deliveries_of(view.letter)
        # How often a delivery may be sent is its provider's to say.
        counts_sends = any(row.state is not DeliveryState.SENT for row in sent)
        return LetterReport(
            view,
            attempts_allowed=None
            if stage is None or counts_sends
            else stage.retry.allowed_at(view.letter.attempts),
            upstream=None if stage is None else stage.upstream,
            deliveries=[DeliveryView(row, view.read_at) for row in sent],
            actions=store.audit.latest(
                subject_kind=SUBJECT, subject=view.id, limit=_FACTS_OF_THE_PAST
            ),
            history=[]
            if job is None
            else history(job, store.ledger(job.id), self._shown_as(job.pipeline)),
        )

    def triage(
        self,
        letter_id: str,
        *,
        cause: Cause | str,
        by: str,
        note: str | None = None,
        owner: str | None = None,
    ) -> LetterView:
        """Say what kind of cause it is; what was found out before about this death is replaced."""
        event = Triaged(
            checked_cause(cause),
            checked_text("triage", field="by", text=by),
            None if note is None else checked_note("triage", "note", note),
        )
        return self._move(letter_id, event, owner)

    def remediate(
        self, letter_id: str, *, evidence: str, by: str, owner: str | None = None
    ) -> LetterView:
        """Say how it is known that the cause is gone."""
        event = Remediated(
            checked_note("remediate", "evidence", evidence),
            checked_text("remediate", field="by", text=by),
        )
        return self._move(letter_id, event, owner)

    def ready(self, letter: DeadLetter, *, cause: Cause | str, evidence: str, by: str) -> bool:
        """Triage and remediate a letter, as far as it has yet to be, in one write.

        False when it has moved since it was read, or can be neither.
        """
        who = checked_text("ready", field="by", text=by)
        events: list[LetterEvent] = [Remediated(checked_note("ready", "evidence", evidence), who)]
        if letter.state is LetterState.OPEN:
            events.insert(0, Triaged(checked_cause(cause), who))
        audit: list[AuditEntry] = []
        moved = letter
        for event in events:
            ready = decide_letter(moved, event, job_state=None, now=self._clock.now())
            if isinstance(ready, Refused):
                return False
            moved = ready
            audit.append(record_of(moved, event, None))
        return self._store().letters.save(moved, audit=audit) is not None

    def replay(
        self,
        letter_id: str,
        *,
        by: str,
        reason: str | None = None,
        from_start: bool = False,
        confirm_idempotent: bool = False,
        owner: str | None = None,
    ) -> LetterView:
        """Send the job back to the stage that failed, or to the start, with a new budget.

        Of several replays at once, one sends it back; the others raise `ConflictError`. A job
        without an idempotency key is sent back only when `confirm_idempotent` says that repeating
        it does no harm.
        """
        who = checked_text("replay", field="by", text=by)
        why = None if reason is None else checked_note("replay", "reason", reason)
        letter, job = self._read(letter_id, owner)
        # Consumers know a message again by its id.
        keyed = letter.kind == MESSAGE or (job is not None and job.key is not None)
        undecided = self._is_undecided(letter)
        asked = ReplayAsked(who, from_start, why, confirm_idempotent or keyed, undecided)
        after = decided(letter, asked, job, self._clock.now())
        if letter.kind == MESSAGE:
            return self._publish_again(after, asked)
        if job is None:
            raise UnknownJob(letter.id)
        seen = job.revision

        def send_back(current: Job) -> Event:
            # The letter allowed it for the death it was read with, and for no later one.
            if current.revision != seen:
                raise StaleRevision(current.id, expected=seen, found=current.revision)
            return RetryRequested(who, why, from_start)

        settled = self._settle(letter.id, send_back)
        if settled.ignored is not None:
            raise WrongState(
                letter.id, state=settled.job.state, action="replay", allowed=("failed",)
            )
        self._store().announce_due()
        return self.get(letter.id)

    def _deliveries_of(self, letter: DeadLetter) -> list[Delivery]:
        """Return the deliveries of the stage that failed."""
        rows = self._store().deliveries.of_job(letter.id)
        return [row for row in rows if row.stage == letter.stage]

    def _is_undecided(self, letter: DeadLetter) -> bool:
        """Return whether a required delivery is unknown and will stay so until a person decides.

        What the promise of a provider allows is known where its application is loaded.
        """
        now = self._clock.now()

        def stays(row: Delivery, bound: BoundProvider | None) -> bool:
            unknown = row.required and row.state is DeliveryState.UNKNOWN
            return unknown and bound is not None and not can_be_settled(row, bound.terms, now)

        rows = self._deliveries_of(letter)
        return any(stays(row, self._providers.get(row.provider)) for row in rows)

    def _publish_again(self, letter: DeadLetter, asked: ReplayAsked) -> LetterView:
        """Put a message back into the outbox, under its own id."""
        said = json.loads(letter.payload or "{}")
        if "payload" not in said:
            raise UsageError(
                f"the message of dead letter {letter.id} cannot be read, and would be a dead letter"
                " again: have its producer send it anew, then resolve this one with `unreplayed`"
            )
        message = NewMessage(
            said["message_id"],
            said["aggregate_id"] or said["message_id"],
            said["message_type"],
            json.dumps(said["payload"], ensure_ascii=False),
            said["trace"],
        )
        audit = AuditEntry(
            at=letter.updated_at,
            done_by=asked.by,
            action="replayed",
            subject_kind=SUBJECT,
            subject=letter.id,
            reason=asked.reason,
            detail={"message_id": message.id},
        )
        saved = self._store().letters.publish_again(letter, message, audit=audit)
        if saved is None:
            found = self._read(letter.id, None)[0]
            raise StaleRevision(letter.id, expected=letter.revision, found=found.revision)
        return self._view(saved, None, saved.updated_at)

    def check(self, letter_id: str, event: LetterEvent, *, owner: str | None = None) -> DeadLetter:
        """Return the letter as `event` would leave it, or raise `StepMissing`; change nothing."""
        letter, job = self._read(letter_id, owner)
        return decided(letter, event, job, self._clock.now())

    def resolve(
        self,
        letter_id: str,
        *,
        note: str,
        by: str,
        unreplayed: bool = False,
        owner: str | None = None,
    ) -> LetterView:
        """Close a letter whose replayed job is complete, or, `unreplayed`, any other.

        The audit log says which of the two it was: `resolved` or `dismissed`.
        """
        event = Resolved(
            checked_note("resolve", "note", note),
            checked_text("resolve", field="by", text=by),
            unreplayed,
        )
        return self._move(letter_id, event, owner)

    def _move(self, letter_id: str, event: LetterEvent, owner: str | None) -> LetterView:
        """Decide and write, again and again while others move the letter meanwhile."""
        letter, job = self._read(letter_id, owner)
        tries = 0
        while True:
            after = decided(letter, event, job, self._clock.now())
            saved = self._store().letters.save(after, audit=[record_of(after, event, job)])
            if saved is not None:
                return self._view(saved, job, saved.updated_at)
            letter, job = self._read(letter_id, owner)
            tries += 1
            if tries == TRIES:
                raise StaleRevision(letter.id, expected=after.revision, found=letter.revision)

    def _in_doubt(self, letters: Sequence[DeadLetter]) -> set[str]:
        """Return the ids of letters with messages of which nobody knows whether they were sent."""
        unsure = [letter.id for letter in letters if not letter.outcome_known]
        return self._store().deliveries.in_doubt(unsure) if unsure else set()

    def _view(self, letter: DeadLetter, job: Job | None, now: Instant) -> LetterView:
        codes = self._shown_as(letter.pipeline).codes
        public = None if codes is None else codes.of(failure_of(letter), final=True)
        return LetterView(letter, job, now, public)

    def _read(self, letter_id: str, owner: str | None) -> tuple[DeadLetter, Job | None]:
        """Read the job, then its letter: what the letter then says holds for the job as read."""
        checked = checked_letter_id(letter_id)
        job = self._store().get([checked], owner=owner).get(checked)
        letter = self._store().letters.get(checked, owner=owner)
        if letter is None:
            raise UnknownLetter(letter_id)
        return letter, job


def owned(wanted: LetterFilter, owner: str | None) -> LetterFilter | None:
    """Return the filter for letters of `owner` alone; None where it asks for another's."""
    if owner is None:
        return wanted
    return wanted._replace(owner=owner) if wanted.owner in (None, owner) else None
