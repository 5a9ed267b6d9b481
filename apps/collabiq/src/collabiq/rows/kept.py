"""What is kept beside mails: the bytes of uploads, replaced payloads, numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.transactions import Reading, Transaction


def add_upload(tx: Transaction, email_id: str, raw: bytes) -> bool:
    """Keep the bytes of a mail that was sent in; returns whether they are new."""
    return bool(
        tx.execute(
            "insert into collabiq.upload (email_id, raw) values (:id, :raw)"
            " on conflict (email_id) do nothing",
            {"id": email_id, "raw": raw},
        )
    )


def get_upload(tx: Reading, email_id: str) -> bytes | None:
    """Return the bytes of a mail that was sent in, or None."""
    row = tx.row("select raw from collabiq.upload where email_id = :id", {"id": email_id})
    return None if row is None else bytes(row["raw"])


def set_replacement(tx: Transaction, job_id: str, payload: Mapping[str, Any], *, by: str) -> None:
    """Keep what the next replay of a failed job is to take."""
    tx.execute(
        "insert into collabiq.replacement (job_id, payload, given_by, given_at)"
        " values (:job_id, :payload, :given_by, :given_at)"
        " on conflict (job_id) do update set payload = excluded.payload,"
        " given_by = excluded.given_by, given_at = excluded.given_at",
        {
            "job_id": job_id,
            "payload": json.dumps(dict(payload), ensure_ascii=False),
            "given_by": by,
            "given_at": tx.now.isoformat(),
        },
    )


def get_replacement(tx: Reading, job_id: str) -> dict[str, Any] | None:
    """Return the payload that a person gave to a job, or None."""
    row = tx.row(
        "select payload from collabiq.replacement where job_id = :job_id", {"job_id": job_id}
    )
    found: dict[str, Any] | None = json.loads(row["payload"]) if row else None
    return found


def replaced_by(tx: Reading, job_id: str) -> str | None:
    """Return who gave a payload to a job, or None where nobody has."""
    row = tx.row(
        "select given_by from collabiq.replacement where job_id = :job_id", {"job_id": job_id}
    )
    return None if row is None else str(row["given_by"])


def forget_replacement(tx: Transaction, job_id: str) -> None:
    """Remove the payload that a person gave to a job."""
    tx.execute("delete from collabiq.replacement where job_id = :job_id", {"job_id": job_id})


def next_numbers(tx: Transaction, name: str, count: int) -> int:
    """Take so many numbers that nobody else gets, and return the last of them."""
    row = tx.row(
        "insert into collabiq.counter as known (name, value) values (:name, :count)"
        " on conflict (name) do update set value = known.value + :count returning value",
        {"name": name, "count": count},
    )
    if row is None:
        raise AssertionError(name)
    return int(row["value"])


def listed(values: Sequence[str], *, prefix: str = "v") -> tuple[str, dict[str, Any]]:
    """Return placeholders for a list of texts, and the values by name."""
    named = {f"{prefix}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{name}" for name in named), named
