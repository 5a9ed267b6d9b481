"""Deliveries: one row per subject, recipient and version, guarded by its revision.

No method holds a row across anything but its own statements: a courier leases a delivery, lets go
of the database, calls the provider and then writes what came of it under the revision it read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryKey, DeliveryState
from holdfast.core.delivery.log import DeliveryAttempt, Outcome
from holdfast.core.values.instant import Instant, later
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables.audit import AuditEntry, record

SUBJECT: Final = "delivery"
"""The kind of subject under which the audit record keeps what is done about deliveries."""
CHUNK: Final = 200
TRIES: Final = 8
LOOKED_UP: Final = 5_000
"""Keys in one statement."""
_FIXED: Final = frozenset(
    {"subject", "recipient", "version", "provider", "token", "message", "created_at", "trace"}
)
DELIVERY_COLUMNS: Final = ", ".join(f"delivery.{name}" for name in Delivery._fields)
DELIVERY_RETURNED: Final = ", ".join(Delivery._fields)
"""As above, for a statement that cannot name its table."""


class DeliveryFilter(NamedTuple):
    """Which deliveries to list; empty fields match everything."""

    states: tuple[DeliveryState, ...] = ()
    provider: str | None = None
    subject: str | None = None
    recipient: str | None = None
    version: int | None = None
    job_id: str | None = None
    error_class: str | None = None
    created_since: Instant | None = None
    created_until: Instant | None = None
    owner: str | None = None
    """That of the job a delivery belongs to; one without a job is nobody's."""


class DeliveryStanding(NamedTuple):
    """How many deliveries of a provider are in a state that is not `sent`, and since when."""

    provider: str
    state: DeliveryState
    deliveries: int
    oldest_at: Instant


class DeliveryRows:
    """Reads and writes deliveries."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def ensure(self, made: Sequence[Delivery], *, connection: object = None) -> list[Delivery]:
        """Store new deliveries; return, in their order, what is stored for each key.

        A delivery that a recipient already has for that subject and version stays as it is. With
        `connection` the rows become part of the caller's own transaction.
        """
        # In one order, so that two who make the same deliveries do not wait in a circle.
        ordered = sorted(made, key=attrgetter("key"))

        def write(steps: Steps) -> list[Delivery]:
            found: dict[DeliveryKey, Delivery] = {}
            for start in range(0, len(ordered), CHUNK):
                missing = ordered[start : start + CHUNK]
                for _ in range(TRIES):
                    values = {"rows": _as_json(missing)}
                    steps.count("deliveries_insert", values)
                    for row in steps.rows("deliveries_of_keys", values):
                        delivery = _from_row(row)
                        found[delivery.key] = delivery
                    # One that was in the way may be gone by now, because it was old.
                    missing = [delivery for delivery in missing if delivery.key not in found]
                    if not missing:
                        break
            return [found[delivery.key] for delivery in made]

        return self._sql.transact(write, connection=connection) if made else []

    def claim(
        self, provider: str, *, limit: int, holder: str, lease_us: int, now: Instant
    ) -> list[Delivery]:
        """Lease up to `limit` due deliveries of a provider, the longest due first.

        What another courier was leased stays with it until `lost` names it.
        """
        values = {
            "provider": provider,
            "limit": limit,
            "holder": holder,
            "lease_until": later(now, lease_us),
            "now": now,
        }
        rows = self._sql.written("delivery_claim", values)
        return sorted(map(_from_row, rows), key=lambda delivery: delivery.id)

    def lost(self, provider: str, *, now: Instant, limit: int) -> list[Delivery]:
        """Return deliveries of a provider whose courier's lease ended before `now`."""
        values = {"provider": provider, "now": now, "limit": limit}
        return self._find("deliveries_lost", values)

    def apply(
        self,
        decided: Iterable[Delivery],
        *,
        log: Iterable[DeliveryAttempt | None] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> dict[str, Delivery]:
        """Write deliveries as decided from their `revision`, in one transaction.

        Returns those that had not moved since, by id, with their new revisions. What their logs
        should say is written with those, and what the record should say unless none was written.
        """
        lines = [line for line in log if line is not None]
        # In the order of their ids, so that two writers do not wait in a circle.
        ordered = sorted(decided, key=lambda delivery: delivery.id)

        def write(steps: Steps) -> dict[str, Delivery]:
            written = {
                delivery.id: delivery._replace(revision=delivery.revision + 1)
                for delivery in ordered
                if steps.count("delivery_update", _changes(delivery)) == 1
            }
            rows = [line._asdict() for line in lines if line.delivery_id in written]
            if rows:
                steps.count("delivery_attempts_insert", {"rows": json.dumps(rows)})
            for entry in audit if written else ():
                record(steps, entry)
            return written

        return self._sql.transact(write) if ordered else {}

    def get(self, delivery_id: str, *, owner: str | None = None) -> Delivery | None:
        """Return a delivery, or None when there is none of that id, or none of that owner's."""
        found = self._find("delivery", {"id": delivery_id, "owner": owner})
        return found[0] if found else None

    def find(self, wanted: DeliveryFilter, *, before: str | None, limit: int) -> list[Delivery]:
        """Return matching deliveries, the newest first, from those whose id is below `before`."""
        values = {
            **wanted._asdict(),
            "states": ",".join(wanted.states) or None,
            "before": before,
            "limit": limit,
        }
        return self._find("deliveries", values)

    def of_job(self, job_id: str, *, owner: str | None = None) -> list[Delivery]:
        """Return the deliveries that belong to a job, of that owner's, the oldest first."""
        return self._find("deliveries_of_job", {"job_id": job_id, "owner": owner})

    def in_doubt(self, job_ids: Collection[str]) -> set[str]:
        """Return those of the jobs that have a delivery of which nobody knows if it was sent."""
        rows = self._sql.rows("deliveries_in_doubt", {"ids": json.dumps(list(job_ids))})
        return {str(job_id) for (job_id,) in rows}

    def of_keys(self, keys: Collection[DeliveryKey]) -> list[Delivery]:
        """Return the deliveries that were made for these, in no order."""
        wanted = [key._asdict() for key in set(keys)]
        return [
            delivery
            for start in range(0, len(wanted), LOOKED_UP)
            for delivery in self._find(
                "deliveries_of_keys", {"rows": json.dumps(wanted[start : start + LOOKED_UP])}
            )
        ]

    def attempts(self, delivery_ids: Collection[str]) -> dict[str, list[DeliveryAttempt]]:
        """Return, by delivery, what came of its sends and lookups, the oldest first."""
        found: dict[str, list[DeliveryAttempt]] = {each: [] for each in delivery_ids}
        ids = {"ids": json.dumps(list(found))}
        for row in self._sql.rows("delivery_attempts", ids) if found else ():
            line = DeliveryAttempt._make(row)
            found[line.delivery_id].append(line._replace(outcome=Outcome(line.outcome)))
        return found

    def untold(self, *, after: str, limit: int) -> list[str]:
        """Return jobs, from those above the id `after`, with a delivery that came to rest.

        That is one that was sent, failed or became unknown since the job was last looked at.
        """
        rows = self._sql.rows("deliveries_untold", {"after": after, "limit": limit})
        return [row[0] for row in rows]

    def told(self, job_id: str, seen: Iterable[Delivery]) -> None:
        """Note that a job was looked at since these deliveries of it came to rest as seen."""
        rows = [{"id": delivery.id, "revision": delivery.revision} for delivery in seen]
        self._sql.count("deliveries_told", {"job_id": job_id, "rows": json.dumps(rows)})

    def unchecked(
        self, provider: str, *, since: Instant, after: str = "", until: Instant, limit: int
    ) -> list[Delivery]:
        """Return deliveries marked from `since` up to `until` that nobody has confirmed.

        They are in the order of their marks, then of their ids; of those marked at `since` only
        those above the id `after`.
        """
        values = {
            "provider": provider,
            "since": since,
            "after": after,
            "until": until,
            "limit": limit,
        }
        return self._find("deliveries_unchecked", values)

    def unknown(self, provider: str, *, until: Instant, limit: int) -> list[Delivery]:
        """Return unknown deliveries of a provider that were not looked up after `until`."""
        values = {"provider": provider, "until": until, "limit": limit}
        return self._find("deliveries_unknown", values)

    def counts(self) -> dict[str, dict[DeliveryState, int]]:
        """Return, by provider, how many deliveries are in each state but `sent`."""
        found: dict[str, dict[DeliveryState, int]] = {}
        for provider, state, count in self._sql.rows("delivery_counts", {}):
            found.setdefault(provider, {})[DeliveryState(state)] = count
        return found

    def standing(self) -> list[DeliveryStanding]:
        """Return, by provider and state, what has not ended well."""
        return [
            DeliveryStanding(provider, DeliveryState(state), count, oldest_at)
            for provider, state, count, oldest_at in self._sql.rows("delivery_standing", {})
        ]

    def unattended(self) -> list[DeliveryStanding]:
        """Return, by provider and state, what needs a person and has no dead letter to say so.

        Unknown deliveries, and required ones that failed and were not given up: of those without a
        job, and of jobs that are complete. `oldest_at` is since when.
        """
        return [
            DeliveryStanding(provider, DeliveryState(state), count, oldest_at)
            for provider, state, count, oldest_at in self._sql.rows("deliveries_unattended", {})
        ]

    def _find(self, statement: str, values: dict[str, Any]) -> list[Delivery]:
        return [_from_row(row) for row in self._sql.rows(statement, values)]


def _as_json(made: Sequence[Delivery]) -> str:
    names = ("id", *_FIXED, "job_id", "stage", "run_at")
    return json.dumps(
        [
            {
                **{name: getattr(delivery, name) for name in names},
                "required": int(delivery.required),
            }
            for delivery in made
        ]
    )


def _changes(delivery: Delivery) -> dict[str, Any]:
    values = {name: value for name, value in delivery._asdict().items() if name not in _FIXED}
    return {
        **values,
        "state": delivery.state.value,
        "required": int(delivery.required),
        "job_told": int(delivery.job_told),
    }


def _from_row(row: Sequence[Any]) -> Delivery:
    delivery = Delivery._make(row)
    return delivery._replace(
        state=DeliveryState(delivery.state),
        required=bool(delivery.required),
        job_told=bool(delivery.job_told),
    )
