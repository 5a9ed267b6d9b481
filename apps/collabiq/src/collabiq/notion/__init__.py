"""Notion: the rows that mails become, written so that nothing is there twice."""

from collabiq.notion.client import API_URL, NotionApi, Person, Row
from collabiq.notion.errors import (
    MissingColumn,
    NotionConflict,
    NotionFailure,
    NotionForbidden,
    NotionInvalid,
    NotionNotFound,
    NotionRateLimited,
    NotionUnauthorized,
    NotionUnavailable,
    NotionUnreachable,
)
from collabiq.notion.properties import Built, RowValues, collaboration_type, row_properties
from collabiq.notion.schema import DEFAULT_FIELDS, InvalidFieldMap, Source, field_map
from collabiq.notion.text import body_blocks, text_objects

__all__ = [
    "API_URL",
    "DEFAULT_FIELDS",
    "Built",
    "InvalidFieldMap",
    "MissingColumn",
    "NotionApi",
    "NotionConflict",
    "NotionFailure",
    "NotionForbidden",
    "NotionInvalid",
    "NotionNotFound",
    "NotionRateLimited",
    "NotionUnauthorized",
    "NotionUnavailable",
    "NotionUnreachable",
    "Person",
    "Row",
    "RowValues",
    "Source",
    "body_blocks",
    "collaboration_type",
    "field_map",
    "row_properties",
    "text_objects",
]
