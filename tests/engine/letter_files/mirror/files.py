"""The one file of a folder, as a person would look at it and change it."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.runtime.kernel.clock import monotonic_s


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*/*.json")
    return path


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(only_file(folder).read_text("utf-8"))
    return found


def standing(folder: Path) -> tuple[str, bool]:
    found = document(folder)
    return found["status"], found["processed"]


def edit(folder: Path, **changes: Any) -> Path:
    path = only_file(folder)
    path.write_text(json.dumps({**document(folder), **changes}), "utf-8")
    return path


def entry_id(folder: Path) -> str:
    return str(document(folder)["entry_id"])


def until(holds: Callable[[], object]) -> None:
    until_s = monotonic_s() + 10
    while not holds():
        assert monotonic_s() < until_s
        threading.Event().wait(0.01)
