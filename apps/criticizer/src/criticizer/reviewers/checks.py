"""What a diff shows by itself, whatever language it is in.

A finding never quotes the change: mails and pages show findings to more people than see the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Final, TypeVar

from criticizer.critique import MAX_TEXT, Finding, Severity
from criticizer.diffs import FileDiff
from criticizer.diffs.model import AddedLine
from criticizer.reviewers.secret_shapes import secret_in

_Found = TypeVar("_Found")

LONG_LINE: Final = 200
LARGE_BINARY_BYTES: Final = 500_000
_MAX_EACH: Final = 20
"""How often one thing is said of one file."""
_LOOKED_AT: Final = 4_000
"""How much of a line is searched."""

_CONFLICT: Final = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)")
_TODO: Final = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
_PYTHON: Final = frozenset({".py", ".pyi"})
_SCRIPT: Final = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue", ".svelte"})
_WRAPPED_BY_NOBODY: Final = frozenset(
    {".csv", ".json", ".lock", ".map", ".md", ".rst", ".svg", ".txt"}
)
_MEANT_BLANKS: Final = frozenset({".md", ".markdown", ".diff", ".patch"})
_DEBUGGER: Final = {
    **dict.fromkeys(
        _PYTHON,
        re.compile(
            r"\s*(?:breakpoint\(\)|(?:import|from) i?pdb\b|i?pdb\.set_trace\(|import pudb\b)"
        ),
    ),
    **dict.fromkeys(_SCRIPT, re.compile(r"\s*debugger\s*;?\s*$")),
    ".rb": re.compile(r"\s*(?:binding\.pry|byebug|debugger)\s*$"),
}
_PRINT: Final = {
    **dict.fromkeys(_PYTHON, re.compile(r"\s*p?print\(")),
    **dict.fromkeys(_SCRIPT, re.compile(r"\s*console\.(?:log|debug)\(")),
}
_TEST_NAME: Final = re.compile(
    r"(?:test_.*|.*_test|.*\.test|.*\.spec|.*_spec|.*Test|.*Tests)\.[A-Za-z]{1,5}"
)
_TEST: Final = re.compile(
    r"\s*(?:(?:async )?def test_\w|func Test\w|(?:it|test)\(|@Test\b|#\[test\])"
)


def checked(files: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield what is to be said of the files of a diff."""
    yield from _tests_gone(files)
    for file in files:
        if file.is_combined:
            yield _finding(file, None, "info", "A merge of several parents is not looked at.")
        elif not file.is_deleted:
            for check in _CHECKS:
                yield from check(file)


def _tests_gone(files: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield which files lost tests, unless the change as a whole has as many as before."""
    lost = {
        number: _tests_in(file.removed) - _tests_in(line.text for line in file.added)
        for number, file in enumerate(files)
        if is_test(file.old_path or file.path)
    }
    if sum(lost.values()) <= 0:
        return
    for number, count in lost.items():
        file = files[number]
        if file.is_deleted:
            yield _finding(file, None, "warning", "A test file is deleted.")
        elif count > 0:
            yield _finding(file, None, "warning", f"It lost {_counted(count, 'test')}.")


def _tests_in(lines: Iterable[str]) -> int:
    return sum(_TEST.match(text[:_LOOKED_AT]) is not None for text in lines)


def _binary(file: FileDiff) -> Iterator[Finding]:
    if not file.is_binary:
        return
    size = file.binary_bytes
    if size is not None and size > LARGE_BINARY_BYTES:
        message = f"A binary file of {size} bytes stays in every copy of the repository for ever."
        yield _finding(file, None, "warning", message, "Keep it in a place for large files.")
    else:
        yield _finding(file, None, "info", "A binary file, which a diff does not show.")


def _conflicts(file: FileDiff) -> Iterator[Finding]:
    for line in _matching(file, _CONFLICT):
        yield _finding(file, line.number, "error", "A marker of a merge conflict is left in.")


def _secrets(file: FileDiff) -> Iterator[Finding]:
    found = ((line, secret_in(line.text[:_LOOKED_AT])) for line in file.added)
    for line, secret in _first((line, secret) for line, secret in found if secret is not None):
        if secret.is_certain or not is_test(file.path):
            yield _finding(
                file,
                line.number,
                "error" if secret.is_certain else "warning",
                f"This looks like {secret.kind}.",
                "Take it out, replace it where it is in use, and keep it out of the repository.",
            )


def _debuggers(file: FileDiff) -> Iterator[Finding]:
    pattern = _DEBUGGER.get(_ending(file))
    if pattern is not None:
        for line in _matching(file, pattern):
            yield _finding(file, line.number, "error", "A debugger is left in.")


def _prints(file: FileDiff) -> Iterator[Finding]:
    pattern = _PRINT.get(_ending(file))
    if pattern is not None and not is_test(file.path):
        for line in _matching(file, pattern):
            message = "This prints, which looks like a trace of debugging."
            yield _finding(file, line.number, "info", message, "Log it, or take it out.")


def _todos(file: FileDiff) -> Iterator[Finding]:
    found = (line for line in file.added if _TODO.search(line.text[:_LOOKED_AT]))
    for line in _first(found):
        yield _finding(file, line.number, "info", "A note about work that is left to do is added.")


def _blanks_at_ends(file: FileDiff) -> Iterator[Finding]:
    if _ending(file) in _MEANT_BLANKS:
        return
    lines = [line.number for line in file.added if line.text != line.text.rstrip(" \t")]
    if lines:
        message = f"{_counted(len(lines), 'added line')} with blanks at the end."
        yield _finding(file, lines[0], "info", message)


def _long_lines(file: FileDiff) -> Iterator[Finding]:
    if _ending(file) in _WRAPPED_BY_NOBODY:
        return
    lines = [line.number for line in file.added if len(line.text) > LONG_LINE]
    if lines:
        message = f"{_counted(len(lines), 'added line')} longer than {LONG_LINE} letters."
        yield _finding(file, lines[0], "info", message)


_CHECKS: Final[tuple[Callable[[FileDiff], Iterator[Finding]], ...]] = (
    _binary,
    _conflicts,
    _secrets,
    _debuggers,
    _prints,
    _todos,
    _blanks_at_ends,
    _long_lines,
)


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its name."""
    found = PurePosixPath(path)
    return _TEST_NAME.fullmatch(found.name) is not None


def _matching(file: FileDiff, pattern: re.Pattern[str]) -> Iterator[AddedLine]:
    return _first(line for line in file.added if pattern.match(line.text[:_LOOKED_AT]))


def _first(found: Iterable[_Found]) -> Iterator[_Found]:
    return islice(found, _MAX_EACH)


def _ending(file: FileDiff) -> str:
    return PurePosixPath(file.path).suffix.lower()


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _finding(
    file: FileDiff,
    line: int | None,
    severity: Severity,
    message: str,
    suggestion: str | None = None,
) -> Finding:
    return Finding(
        file=file.path,
        line=line or None,
        severity=severity,
        message=message[:MAX_TEXT],
        suggestion=suggestion,
    )
