"""The stage that extracts what a mail says, by a model or by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from collabiq.extract.record import Company, Extraction, ExtractTask
from collabiq.extract.rules import extract_by_rules
from collabiq.failures.fallback import keep_circuit
from collabiq.rows import set_extraction
from collabiq.services.directory import Directory, Lists, ListsUnavailable
from collabiq.services.tools import GEMINI_KEY, Tools
from collabiq.services.upstreams import OFFLINE
from collabiq.settings.config import Config
from collabiq.shapes import ExtractionResult
from collabiq.tables.times import from_us
from holdfast import CircuitOpen, Holdfast, RetryLater

if TYPE_CHECKING:
    from collabiq.failures.errors import ErrorRecords

_UNAUTHORIZED: Final = frozenset({401, 403})


def extract(
    engine: Holdfast,
    tools: Tools,
    config: Config,
    directory: Directory,
    *,
    email_id: str,
    given: Mapping[str, Any],
    errors: ErrorRecords | None = None,
) -> ExtractionResult:
    """Return what a mail says, and keep what lists show of it."""
    task = _task(given, _lists(directory))
    found = _extracted(engine, tools, config, task)
    if found.extractor == "rules" and config.llm_order[0] != OFFLINE and errors is not None:
        errors.record(
            "Gemini gave no extraction; the rules did",
            at=from_us(engine.clock.now()),
            operation="gemini_extract",
            email_id=email_id,
        )
    document = found.to_document()
    with engine.transaction() as tx:
        set_extraction(
            tx,
            email_id,
            extraction=document,
            confidence=found.confidence.lowest,
            usd=found.usage.usd,
        )
    return cast("ExtractionResult", document)


def _lists(directory: Directory) -> Lists | None:
    """Return the lists of Notion; a model can do without them, where Notion cannot be read."""
    try:
        return directory.current()
    except ListsUnavailable:
        return None


def _task(given: Mapping[str, Any], lists: Lists | None) -> ExtractTask:
    sent_at = given.get("sent_at")
    companies = () if lists is None else lists.companies.values()
    return ExtractTask(
        text=str(given.get("text") or ""),
        subject=str(given.get("subject") or ""),
        sender=str(given.get("sender") or ""),
        sent_at=datetime.fromisoformat(sent_at) if sent_at else None,
        companies=tuple(Company(each.id, each.name) for each in companies),
    )


def _extracted(engine: Holdfast, tools: Tools, config: Config, task: ExtractTask) -> Extraction:
    if config.llm_order[0] == OFFLINE:
        return extract_by_rules(task)
    guard = tools.gemini_guard
    if guard is None:
        return _asked(tools, task)
    try:
        found = guard.call(_asked, tools, task)
    except RetryLater:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the rules are there for it
        keep_circuit(engine, guard, called=not isinstance(error, CircuitOpen))
        found = extract_by_rules(task)
        return replace(found, review=(*found.review, "Gemini could not be asked"))
    keep_circuit(engine, guard, called=True)
    return found


def _asked(tools: Tools, task: ExtractTask) -> Extraction:
    from google.genai.errors import APIError  # noqa: PLC0415 - it takes seconds to import

    from collabiq.extract.gemini import extract_with_repair  # noqa: PLC0415 - as above

    model, key = tools.gemini()
    try:
        return extract_with_repair(model.extract, task)
    except APIError as error:
        if _is_refused_key(error) and tools.replaced(GEMINI_KEY, refused=key):
            raise RetryLater(after=0, reason="the key of Gemini was replaced") from None
        raise


def _is_refused_key(error: Any) -> bool:  # noqa: ANN401 - of the SDK
    """Return whether a key was refused; Google says so with a 400 as well."""
    return error.code in _UNAUTHORIZED or "API_KEY_INVALID" in str(error.details)
