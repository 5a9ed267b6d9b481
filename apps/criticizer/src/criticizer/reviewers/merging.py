"""One critique out of those of the parts of a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from criticizer.critique import MAX_FINDINGS, MAX_TEXT, Critique, Finding

_SEVEREST_FIRST: Final = {"error": 0, "warning": 1, "info": 2}
_PREFIXES: Final = ("a/", "b/", "./")


def about(findings: Iterable[Finding], *, paths: AbstractSet[str]) -> list[Finding]:
    """Return the findings about these files, by the names these have."""
    placed = ((_path_among(paths, found.file), found) for found in findings)
    return [
        found if path == found.file else found.model_copy(update={"file": path})
        for path, found in placed
        if path is not None
    ]


def merged(critiques: Sequence[Critique]) -> Critique:
    """Return all that critiques say, in the order of files and lines, each finding once."""
    findings = (found for critique in critiques for found in critique.findings)
    return critique_with(_summary(critiques), findings)


def critique_with(summary: str, findings: Iterable[Finding]) -> Critique:
    """Return a critique with findings in order, each once.

    Where there are more than a critique holds, the severest ones stay.
    """
    kept = sorted(unique(findings), key=lambda found: _SEVEREST_FIRST[found.severity])
    left_out = len(kept) - MAX_FINDINGS
    if left_out > 0:
        note = f"\n\n{left_out} more findings are left out."
        summary = summary[: MAX_TEXT - len(note)] + note
    return Critique(summary=summary[:MAX_TEXT], findings=in_order(kept[:MAX_FINDINGS]))


def unique(findings: Iterable[Finding]) -> list[Finding]:
    """Return each finding once, however often it was found."""
    return list({(found.file, found.line, found.message): found for found in findings}.values())


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by file and line, those on a file as a whole before those on its lines."""
    return sorted(
        findings,
        key=lambda found: (
            found.file,
            found.line or 0,
            _SEVEREST_FIRST[found.severity],
            found.message,
        ),
    )


def _summary(critiques: Sequence[Critique]) -> str:
    if len(critiques) == 1:
        return critiques[0].summary
    # Each has its share, so that a long one does not leave the last without any.
    share = MAX_TEXT // len(critiques) - len("Part 99 of 99: \n\n")
    return "\n\n".join(
        f"Part {number} of {len(critiques)}: {critique.summary[:share]}"
        for number, critique in enumerate(critiques, 1)
    )


def _path_among(paths: AbstractSet[str], name: str) -> str | None:
    if name in paths:
        return name
    return next(
        (
            name.removeprefix(prefix)
            for prefix in _PREFIXES
            if name.startswith(prefix) and name.removeprefix(prefix) in paths
        ),
        None,
    )
