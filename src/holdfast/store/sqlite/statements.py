"""The statements of the SQLite store, by the names of their files."""

from __future__ import annotations

from typing import Final

from holdfast.store.sqlite.rows import JOB_COLUMNS
from holdfast.store.statements.sqlfiles import SqlFiles
from holdfast.store.tables.dead_letters import LETTER_COLUMNS
from holdfast.store.tables.deliveries import DELIVERY_COLUMNS, DELIVERY_RETURNED
from holdfast.store.tables.outbox import OUTBOX_COLUMNS, OUTBOX_RETURNED

# Which messages a relay publishes, by their types: lines that are cut out without a list.
_OUTBOX_TYPES: Final = (
    "(:types is null or message_type in (select value from json_each(:types)))\n"
    "   and (:without_types is null"
    " or message_type not in (select value from json_each(:without_types)))"
)

SQL: Final = SqlFiles(
    __package__ or "",
    {
        "job_columns": JOB_COLUMNS,
        "letter_columns": LETTER_COLUMNS,
        "outbox_columns": OUTBOX_COLUMNS,
        "outbox_returned": OUTBOX_RETURNED,
        "outbox_types": _OUTBOX_TYPES,
        "delivery_columns": DELIVERY_COLUMNS,
        "delivery_returned": DELIVERY_RETURNED,
    },
)
