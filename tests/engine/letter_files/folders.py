"""Folders of dead letters, as this program and others write them."""

import json
from pathlib import Path

from holdfast import Holdfast
from holdfast.letter_files.files import LetterFiles, Outcome
from holdfast.letter_files.form import PLAIN_FORM, LetterEntry
from holdfast.store.tables.dead_letters import LetterFilter

FOREIGN = {
    "entry_id": "letter_20251106_101522_abc123",
    "subject": "19a3f3f856f0b4d4",
    "operation_type": "row_write",
    "status": "pending",
    "original_payload": {"database_id": "db_123", "properties": {"Title": "Acme"}},
    "error_details": {
        "error_type": "CircuitBreakerOpen",
        "error_message": "Notion is degraded",
        "stack_trace": "Traceback…",
        "retry_count": 3,
    },
    "created_at": "2025-11-06T10:15:22.123000+00:00",
    "last_attempt": "2025-11-06T10:15:45.789000+00:00",
    "replayed_at": None,
    "processed": False,
}


class Gateway:
    """An upstream that is down until it is mended."""

    down = True
    deaf = False
    """Whether what comes after it fails."""

    def __init__(self) -> None:
        self.sent: list[object] = []


def files_of(app: Holdfast) -> LetterFiles:
    return LetterFiles(app.store, clock=app.clock, dead=app.dead, submit=app.submit)


def export(app: Holdfast, folder: Path, **options) -> list[LetterEntry]:
    """Export everything, and return what stands in the files."""
    results = list(files_of(app).export(folder, LetterFilter(), **options))
    assert {result.outcome for result in results} <= {Outcome.WRITTEN}
    return [PLAIN_FORM.read(json.loads(result.path.read_text("utf-8"))) for result in results]


def imported(app: Holdfast, folder: Path) -> list[tuple[str, str | None]]:
    """Import a folder, and return what became of each file."""
    results = files_of(app).import_from(folder, by="ada")
    return [
        (result.outcome.value, None if result.error is None else str(result.error))
        for result in results
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def remediated(app: Holdfast, letter_id: str) -> None:
    app.dead.triage(letter_id, cause="transient", by="ada")
    app.dead.remediate(letter_id, evidence="INC-7", by="ada")


def put(folder: Path, document: object, *, name: str | None = None) -> Path:
    """Write an entry as another program would."""
    given = document if isinstance(document, dict) else {}
    stem = name or given.get("entry_id", "letter_20251106_101522_x")
    path = folder / str(given.get("operation_type", "row_write")) / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path
