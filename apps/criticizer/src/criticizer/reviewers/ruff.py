"""What `ruff` says of the Python code of a change, which is read and never run."""

from __future__ import annotations

import json
import os
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shutil import which
from typing import Any, Final

from criticizer.critique import MAX_TEXT, Finding, Severity
from criticizer.processes import SaysTooMuch, run
from criticizer.reviewers.errors import ReviewerFailed
from criticizer.reviewers.python_files import Rebuilt
from criticizer.wire import MEBIBYTE, Deadline

MAX_FILES: Final = 500
_MAX_OUTPUT_BYTES: Final = 16 * MEBIBYTE
_SELECTED: Final = "ASYNC,B,E4,E7,E9,F,PLE,S102,S301,S307,S506,S602,S608"
_IN_RUNS: Final = frozenset(
    (
        "ASYNC210",
        "ASYNC220",
        "ASYNC221",
        "ASYNC222",
        "ASYNC251",
        "B003",
        "B004",
        "B005",
        "B006",
        "B009",
        "B010",
        "B012",
        "B013",
        "B014",
        "B016",
        "B017",
        "B020",
        "B021",
        "B022",
        "B025",
        "B029",
        "B032",
        "B033",
        "E701",
        "E702",
        "E703",
        "E711",
        "E712",
        "E713",
        "E714",
        "E721",
        "E722",
        "E731",
        "E741",
        "F501",
        "F502",
        "F503",
        "F504",
        "F505",
        "F506",
        "F507",
        "F508",
        "F509",
        "F521",
        "F522",
        "F523",
        "F524",
        "F525",
        "F541",
        "F601",
        "F602",
        "F631",
        "F632",
        "F633",
        "PLE0237",
        "PLE0302",
        "PLE0704",
        "PLE1205",
        "PLE1206",
        "PLE1300",
        "PLE1307",
        "PLE1310",
        "PLE1507",
        "PLE2502",
        "PLE2515",
        "S102",
        "S301",
        "S307",
        "S506",
        "S602",
        "S608",
    )
)
"""What can be seen in a run of lines without the rest of its file."""
_ERRORS: Final = ("E9", "F82", "F7", "PLE", "invalid-syntax")
_SYNTAX: Final = frozenset({None, "invalid-syntax", "E999"})
_SYNTAX_MESSAGE: Final = "This is no valid Python."


class RuffStopped(Exception):
    """Ruff did not come to an end with this code, and would not another time."""


def ruff_findings(code: Sequence[Rebuilt], *, deadline: Deadline) -> list[Finding]:
    """Return what ruff says, of lines that the change adds only.

    No configuration is taken from the change, and none from here. Raises `RuffStopped`, or
    `ReviewerFailed` when there is no ruff or not enough time.
    """
    if not code:
        return []
    with tempfile.TemporaryDirectory(prefix="criticizer-") as made:
        folder = Path(made)
        by_name = {}
        for number, each in enumerate(code[:MAX_FILES]):
            # Names of ours: those of a change could lead anywhere.
            path = folder / f"code{number}{each.suffix}"
            path.write_text(each.text, encoding="utf-8", errors="replace", newline="")
            by_name[path.name] = each
        said = _said_by_ruff(folder, deadline)
    return list(_findings(said, by_name))


def _said_by_ruff(folder: Path, deadline: Deadline) -> list[Any]:
    command = (
        _program(),
        "check",
        "--isolated",
        "--no-cache",
        "--no-fix",
        "--exit-zero",
        "--quiet",
        "--output-format=json",
        "--target-version=py314",
        f"--select={_SELECTED}",
        "--",
        ".",
    )
    try:
        ended = run(
            command,
            environment={"PATH": os.defpath, "NO_COLOR": "1"},
            deadline=deadline,
            max_bytes=_MAX_OUTPUT_BYTES,
            folder=folder,
        )
    except TimeoutError:
        raise ReviewerFailed("ruff did not end in time") from None
    except SaysTooMuch:
        raise RuffStopped from None
    try:
        found = json.loads(ended.output) if ended.code == 0 else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise RuffStopped
    return found


def _program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "ruff"
    found = str(beside) if beside.is_file() else which("ruff")
    if found is None:
        raise ReviewerFailed("ruff is not installed")
    return found


def _findings(said: Iterable[Any], by_name: dict[str, Rebuilt]) -> Iterator[Finding]:
    entries = [entry for entry in map(_read, said) if entry is not None]
    broken = {name for name, code, _, _ in entries if code in _SYNTAX}
    for name, code, row, message in entries:
        rebuilt = by_name.get(name)
        if rebuilt is None or not 1 <= row <= len(rebuilt.numbers):
            continue
        line = rebuilt.numbers[row - 1]
        if rebuilt.is_whole:
            # Of code that is broken everything else that is said is guesswork.
            if name in broken and code not in _SYNTAX:
                continue
        elif name in broken or code not in _IN_RUNS:
            continue
        if line in rebuilt.added:
            yield _finding(rebuilt.path, line, code, message)


def _read(entry: Any) -> tuple[str, str | None, int, str] | None:  # noqa: ANN401 - JSON is anything
    try:
        name = Path(entry["filename"]).name
        return name, entry["code"], int(entry["location"]["row"]), str(entry["message"])
    except (KeyError, TypeError, ValueError):
        return None


def _finding(path: str, line: int, code: str | None, message: str) -> Finding:
    if code in _SYNTAX:
        return Finding(
            file=path, line=line, severity="error", message=_SYNTAX_MESSAGE, suggestion=None
        )
    severity: Severity = "error" if (code or "").startswith(_ERRORS) else "warning"
    # Names of the change are quoted in it; texts are not.
    text = f"{message} (ruff {code})"
    return Finding(
        file=path, line=line, severity=severity, message=text[:MAX_TEXT], suggestion=None
    )
