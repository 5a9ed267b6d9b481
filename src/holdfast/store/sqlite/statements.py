"""The statements of the SQLite store, by the names of their files."""

from __future__ import annotations

from typing import Final

from holdfast.store.deliveries import DELIVERY_COLUMNS, DELIVERY_RETURNED
from holdfast.store.letters import LETTER_COLUMNS
from holdfast.store.outbox import OUTBOX_COLUMNS, OUTBOX_RETURNED
from holdfast.store.sqlfiles import SqlFiles
from holdfast.store.sqlite.rows import JOB_COLUMNS

SQL: Final = SqlFiles(
    __package__ or "",
    {
        "job_columns": JOB_COLUMNS,
        "letter_columns": LETTER_COLUMNS,
        "outbox_columns": OUTBOX_COLUMNS,
        "outbox_returned": OUTBOX_RETURNED,
        "delivery_columns": DELIVERY_COLUMNS,
        "delivery_returned": DELIVERY_RETURNED,
    },
)
