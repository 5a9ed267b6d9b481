"""How a replay of many dead letters stands, in plain words."""

from __future__ import annotations

from holdfast.core.dead_letter.replay import Counts


def progress_of(counts: Counts) -> str:
    """Return what became of the letters so far."""
    pending = counts.pending + counts.unsent
    parts = [f"{counts.succeeded} succeeded", f"{counts.failed_again} failed again"]
    for count, word in (
        (counts.cancelled, "cancelled"),
        (counts.under_way, "under way"),
        (counts.skipped, "skipped"),
        (pending, "not sent"),
    ):
        if count:
            parts.append(f"{count} {word}")
    return ", ".join(parts)
