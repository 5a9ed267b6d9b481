"""`collabiq llm`: try what finds out what a mail says."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from collabiq.cli.extractions import print_extraction
from collabiq.cli.output import document, json_option, line, reports_errors
from collabiq.cli.services import Services
from collabiq.extract import Extraction, ExtractTask, extract_by_rules
from collabiq.mail import clean, parse_mail

SAMPLE: Final = ExtractTask(
    subject="Brightfold x Orchard Retail pilot",
    sender="Emma Clarke",
    sent_at=datetime(2025, 11, 3, 9, 30, tzinfo=UTC),
    text=(
        "Brightfold and Orchard Retail agreed on a pilot of shelf labels in four stores, "
        "beginning on 2025-11-17.\n\nContact: Emma Clarke"
    ),
)
"""A mail of nobody's, short enough to cost next to nothing."""


@click.group()
def llm() -> None:
    """Try what finds out what a mail says: Gemini, or the rules."""


@llm.command("test")
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@json_option
@reports_errors
def test(*, file: str | None, as_json: bool) -> None:
    """Have a mail looked into as LLM_ORDER says, once; without FILE it is a built-in one.

    Prints what was found, how long that took and what it cost. Nothing is stored or written. Ends
    with 3 where the model refuses or its answer cannot be used: the next of LLM_ORDER is not
    tried, so that you see what the first one does.

    Example: collabiq llm test mail.eml
    """
    task = SAMPLE if file is None else task_of(read_bytes(file))
    own = Services()
    began_s = time.monotonic()
    found = extracted(own, task)
    took_s = time.monotonic() - began_s
    if as_json:
        document({"ok": True, "seconds": round(took_s, 3), "extraction": found.to_document()})
        return
    print_extraction(found)
    by = "the rules, without a model" if found.extractor == "rules" else found.model
    usage = found.usage
    tokens = f", {usage.input_tokens} tokens in, {usage.output_tokens} out, {usage.usd:.6f} USD"
    line(f"found by {by} in {took_s:.1f} s{tokens if usage.input_tokens else ''}", style="dim")


def extracted(own: Services, task: ExtractTask) -> Extraction:
    """Return what the first of LLM_ORDER finds in a mail."""
    if own.config.llm_order[0] == "offline":
        return extract_by_rules(task)
    with own.gemini() as gemini:
        return gemini.extract(task)


def task_of(raw: bytes) -> ExtractTask:
    """Return what is to be looked into of a mail; raises `NotAMail`."""
    mail = parse_mail(raw)
    return ExtractTask(
        text=clean(mail.text, subject=mail.subject).text,
        subject=mail.subject,
        sender=mail.sender.name,
        sent_at=mail.date,
    )


def read_bytes(file: str) -> bytes:
    """Return what stands in a file; `-` is what comes on stdin."""
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
