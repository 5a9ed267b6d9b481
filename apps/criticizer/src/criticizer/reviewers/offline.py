"""Reviews without a model: what rules find, for nothing, on a machine without the internet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from criticizer.change import Change
from criticizer.critique import Finding, Severity
from criticizer.diffs import FileDiff, parse_diff
from criticizer.reviewers.checks import checked
from criticizer.reviewers.contract import Reviewed, Usage
from criticizer.reviewers.merging import critique_with, unique
from criticizer.reviewers.python_files import rebuilt
from criticizer.reviewers.ruff import MAX_FILES, RuffStopped, ruff_findings
from criticizer.wire import Deadline

NAME: Final = "offline"
_WORDS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


class OfflineReviewer:
    """Reviews changes by rules: checks of the diff, and ruff on the Python code in it."""

    @property
    def name(self) -> str:
        """Who it is, as people read it."""
        return NAME

    def review(
        self,
        change: Change,
        *,
        timeout_s: float,
        repair: bool,  # noqa: ARG002 - there is nobody to mind the form
        token: str,  # noqa: ARG002 - nothing is paid for
        headers: Mapping[str, str],  # noqa: ARG002 - nobody is called
    ) -> Reviewed:
        """Return what rules say; see the contract. Raises `ReviewerFailed` without a ruff."""
        deadline = Deadline(timeout_s)
        files = parse_diff(change.diff)
        findings = list(checked(files))
        code = list(rebuilt(files))
        notes = []
        try:
            findings += ruff_findings(code, deadline=deadline)
        except RuffStopped:
            notes.append("Ruff could not read the Python code in it.")
        if len(code) > MAX_FILES:
            notes.append(f"Ruff looked at the first {MAX_FILES} pieces of Python code only.")
        found = unique(findings)
        summary = " ".join((_summary(files, found), *notes))
        critique = critique_with(summary, found)
        return Reviewed(critique=critique, reviewer=NAME, usage=Usage())

    def close(self) -> None:
        """Let go of connections, of which there are none."""


def _summary(files: Sequence[FileDiff], findings: Sequence[Finding]) -> str:
    if not files:
        return "The change is empty."
    added = sum(1 for file in files for _ in file.added)
    removed = sum(1 for file in files for _ in file.removed)
    severities = Counter(found.severity for found in findings)
    counts = [
        _counted(severities[severity], word)
        for severity, word in _WORDS.items()
        if severities[severity]
    ]
    said = f"Rules found {_joined(counts)}." if counts else "Rules found nothing to say."
    return f"{_counted(len(files), 'file')}, +{added} -{removed}. {said}"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
