"""A mailbox to try the system with: mails written for it, each with what has to become of it."""

from __future__ import annotations

from pathlib import Path

from collabiq.samples import english, korean, odd
from collabiq.samples.directory import COMPANIES, PEOPLE, SampleCompany
from collabiq.samples.odd import ALERT_SENDER
from collabiq.samples.sample import ADDRESS, Expected, Sample

__all__ = [
    "ADDRESS",
    "ALERT_SENDER",
    "COMPANIES",
    "PEOPLE",
    "Expected",
    "Sample",
    "SampleCompany",
    "mailbox",
    "write_mailbox",
]


def mailbox() -> tuple[Sample, ...]:
    """Return all mails, in the order in which they arrive."""
    return (*korean.SAMPLES, *english.SAMPLES, *odd.SAMPLES, odd.with_a_big_attachment())


def write_mailbox(folder: Path) -> list[Path]:
    """Write every mail to a file `name.eml`, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for sample in mailbox():
        file = folder / f"{sample.name}.eml"
        file.write_bytes(sample.raw)
        written.append(file)
    return written
