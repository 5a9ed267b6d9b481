"""Dead letters: one row per job that failed for good, guarded by its revision."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import Cause, DeadLetter, LetterState, is_escalated
from holdfast.core.values.failure import Category, Severity
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import NewMessage
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables.audit import AuditEntry, record
from holdfast.store.tables.outbox import MessagesAdded, insertion

SUBJECT: Final = "dead_letter"
"""The kind of subject under which the audit record keeps what is done about letters."""
LETTER_COLUMNS: Final = ", ".join(f"letter.{name}" for name in DeadLetter._fields)


class LetterFilter(NamedTuple):
    """Which dead letters to list; empty fields match everything."""

    states: tuple[LetterState, ...] = ()
    pipeline: str | None = None
    stage: str | None = None
    queue: str | None = None
    owner: str | None = None
    error_class: str | None = None
    fingerprint: str | None = None
    escalated: bool | None = None
    failed_since: Instant | None = None
    failed_until: Instant | None = None


class LetterGroup(NamedTuple):
    """Letters that wait for a person and have the same fingerprint."""

    fingerprint: str
    error_class: str
    stage: str
    pipelines: tuple[str, ...]
    """Those that share the code in which they failed, by name."""
    letters: int
    escalated: int
    first_failure_at: Instant
    last_failure_at: Instant
    sample_id: str
    """The letter that died last."""
    message: str
    """What that letter says."""
    exception_type: str
    """What its handler raised; empty where nothing was."""
    category: Category
    http_status: int | None
    in_doubt: bool = False
    """Whether nobody knows if some messages of the letter that died last were sent."""


class LetterStanding(NamedTuple):
    """How many letters wait for a person."""

    waiting: int
    escalated: int


class LetterRows:
    """Reads letters, and writes what people do about them."""

    def __init__(self, sql: Sql, *, messages_added: MessagesAdded) -> None:
        self._sql = sql
        self._messages_added = messages_added

    def get(self, letter_id: str, *, owner: str | None = None) -> DeadLetter | None:
        """Return a letter, or None when there is none of that id, or none of that owner's."""
        rows = self._sql.rows("letter", {"id": letter_id, "owner": owner})
        return _from_row(rows[0]) if rows else None

    def find(self, wanted: LetterFilter, *, before: str | None, limit: int) -> list[DeadLetter]:
        """Return matching letters, newest job first, from those whose id lies below `before`."""
        values = {
            **wanted._asdict(),
            "escalated": None if wanted.escalated is None else int(wanted.escalated),
            "states": ",".join(wanted.states) or None,
            "any_owner": True if wanted.owner else None,
            "before": before,
            "limit": limit,
        }
        return [_from_row(row) for row in self._sql.rows("letters", values)]

    def groups(
        self, *, owner: str | None = None, limit: int, fingerprint: str | None = None
    ) -> list[LetterGroup]:
        """Return the causes for which letters wait, the one with most letters first.

        With `owner` those for which letters of that owner's wait, and how many of them; with
        `fingerprint` that cause alone.
        """
        values = {"owner": owner, "limit": limit, "fingerprint": fingerprint}
        rows = self._sql.rows("letter_groups", values)
        groups = [LetterGroup._make(row) for row in rows]
        return [
            group._replace(
                pipelines=tuple(sorted(json.loads(str(group.pipelines)))),
                category=Category(group.category),
                in_doubt=bool(group.in_doubt),
            )
            for group in groups
        ]

    def times(
        self, fingerprint: str, *, first: Instant, step_us: int, owner: str | None = None
    ) -> dict[int, int]:
        """Return how many waiting letters of a cause failed last in each span after `first`."""
        values = {"fingerprint": fingerprint, "first": first, "step_us": step_us, "owner": owner}
        return {int(span): int(count) for span, count in self._sql.rows("letter_times", values)}

    def standing(self) -> LetterStanding:
        """Return how many letters wait for a person; those that were resolved are not counted."""
        return LetterStanding(*map(int, self._sql.rows("letter_standing", {})[0]))

    def escalated(self, letter_ids: Collection[str]) -> list[DeadLetter]:
        """Return those of the letters whose jobs died again of what no repetition cures."""
        found = (self.get(letter_id) for letter_id in letter_ids)
        return [letter for letter in found if letter is not None and is_escalated(letter)]

    def add(self, letter: DeadLetter, *, audit: AuditEntry) -> bool:
        """Write a letter that no job of this store left, and the record of who brought it.

        False when there is a letter of that id already, which then stays as it is.
        """
        values = _values(letter)

        def write(steps: Steps) -> bool:
            if steps.count("letter_insert", values) != 1:
                return False
            record(steps, audit)
            return True

        return self._sql.transact(write)

    def bury(self, letter: DeadLetter) -> bool:
        """Keep the letter of a message; False when its death is on record already.

        A message that was sent back and died again is the same letter, open once more.
        """
        values = _values(letter)

        def write(steps: Steps) -> bool:
            return (
                steps.count("letter_insert", values) == 1
                or steps.count("letter_died_again", values) == 1
            )

        return self._sql.transact(write)

    def publish_again(
        self, letter: DeadLetter, message: NewMessage, *, audit: AuditEntry
    ) -> DeadLetter | None:
        """Write that a message is sent back, and put it into the outbox, in one transaction.

        Returns the letter with its new revision, or None when another was first.
        """
        sent = {"messages": json.dumps(insertion([message], at=letter.updated_at))}

        def write(steps: Steps) -> list[tuple[Any, ...]]:
            if steps.count("letter_update", _step(letter)) != 1:
                return []
            record(steps, audit)
            return steps.rows("outbox_again", sent)

        added = self._sql.transact(write)
        if not added:
            return None
        self._messages_added(added, None)
        return letter._replace(revision=letter.revision + 1)

    def save(self, letter: DeadLetter, *, audit: Sequence[AuditEntry] = ()) -> DeadLetter | None:
        """Write what a person did, as decided from the letter's `revision`, and the record of it.

        Returns it with its new revision, or None when another was first.
        """

        def write(steps: Steps) -> bool:
            if steps.count("letter_update", _step(letter)) != 1:
                return False
            for entry in audit:
                record(steps, entry)
            return True

        return letter._replace(revision=letter.revision + 1) if self._sql.transact(write) else None

    def correct(
        self, letter: DeadLetter, payload: str, *, job_revision: int, audit: AuditEntry
    ) -> DeadLetter | None:
        """Give the failed job of a letter another payload, and keep the record of who did.

        Returns the letter with its new revision, or None when the letter or its job has moved.
        """
        values = {
            "id": letter.id,
            "revision": letter.revision,
            "updated_at": audit.at,
            "payload": payload,
            "job_revision": job_revision,
        }

        def write(steps: Steps) -> bool:
            # The row of the job first, as decisions about it lock them.
            if steps.count("job_correct", values) != 1:
                return False
            if steps.count("letter_correct", values) != 1:
                raise _Moved
            record(steps, audit)
            return True

        try:
            written = self._sql.transact(write)
        except _Moved:
            return None
        return (
            letter._replace(revision=letter.revision + 1, updated_at=audit.at) if written else None
        )


class _Moved(Exception):
    """The letter has moved, so that nothing of the transaction may stay."""


def _values(letter: DeadLetter) -> dict[str, Any]:
    """Return what `letter_insert` takes."""
    return {
        **letter._asdict(),
        "category": letter.category.value,
        "severity": letter.severity.value,
        "retryable": int(letter.retryable),
        "outcome_known": int(letter.outcome_known),
        "state": letter.state.value,
        "cause": None if letter.cause is None else letter.cause.value,
    }


def _step(letter: DeadLetter) -> dict[str, Any]:
    """Return what `letter_update` takes."""
    return {
        "id": letter.id,
        "revision": letter.revision,
        "state": letter.state.value,
        "updated_at": letter.updated_at,
        "cause": None if letter.cause is None else letter.cause.value,
        "evidence": letter.evidence,
        "note": letter.note,
        "replayed_at": letter.replayed_at,
        "resolved_at": letter.resolved_at,
    }


def _from_row(row: Sequence[Any]) -> DeadLetter:
    letter = DeadLetter._make(row)
    return letter._replace(
        category=Category(letter.category),
        severity=Severity(letter.severity),
        retryable=bool(letter.retryable),
        outcome_known=bool(letter.outcome_known),
        state=LetterState(letter.state),
        cause=None if letter.cause is None else Cause(letter.cause),
    )
