"""Which field goes to which column, as the schema of the database was found."""

from __future__ import annotations

from typing import Any, Final

from collabiq.notion.schema import COMPANY_FIELDS, KINDS
from collabiq.services.directory import read_schema
from collabiq.settings.config import Config
from holdfast import Holdfast

_REQUIRED: Final = frozenset({"title", "email_id"})


def rules_document(engine: Holdfast, config: Config) -> dict[str, Any]:
    """Return the mapping; before the schema was read once, no column is known to be there."""
    with engine.transaction() as tx:
        found = read_schema(tx)
    source, read_at = (None, None) if found is None else found
    fields = []
    for field, column in config.notion_fields.items():
        if field in COMPANY_FIELDS:
            continue
        there = None if source is None else source.column(field, config.notion_fields)
        named = None if source is None else source.columns.get(column)
        fields.append(
            {
                "field": field,
                "column": column if there is None else there.name,
                "kinds": list(KINDS[field]),
                "required": field in _REQUIRED,
                "found": None if source is None else there is not None,
                "found_kind": None if named is None else named.kind,
                "options": [] if there is None else list(there.options),
            }
        )
    return {
        "read_at": None if read_at is None else read_at.isoformat(),
        "database_id": None if source is None else source.database_id,
        "fields": fields,
        "confidence_threshold": config.confidence_threshold,
        "creates_companies": config.notion_creates_companies,
        "duplicate_strategy": config.notion_duplicate_strategy,
    }
