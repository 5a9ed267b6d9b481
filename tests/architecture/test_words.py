"""Words that were retired do not come back, and docstrings begin as PEP 257 has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = {
    "Aside": "BackgroundQueue",
    "Clerk": "a thread pool",
    "Doors": "Authenticator",
    "Ear": "WakeupListener",
    "Errands": "DeliverySender",
    "Herald": "Dispatcher",
    "Heralding": "DispatcherProcess",
    "HiredClaimer": "EmbeddedClaimer",
    "HiredWorker": "EmbeddedWorker",
    "Readied": "BulkTriage",
    "Relief": "OverflowReporter",
    "Twin": "ExistingJob",
    "WalkIns": "AnonymousSessions",
    "settle_in": "tune_process",
}
"""Names of code by the ones that engineers of this field know."""
OLD_BEGINNINGS = ("Tell whether", "Tells whether", "Returns")


PROSE = re.compile(
    r"\b(told|heard of|somebody|whoever|of late|in vain|for ever)\b(?!`)", re.IGNORECASE
)
"""Idioms that a reader trips over; `told` in backticks is a parameter."""
WRITTEN = re.compile(r'""".*?"""|(?:^|  )\s*# .*?$', re.MULTILINE | re.DOTALL)
"""Docstrings and comments."""
DEFINED = re.compile(r"^\s*(?:class|(?:async )?def) (\w+)", re.MULTILINE)
DOCUMENTED = re.compile(r'^\s*r?"""(\w+(?: \w+)?)', re.MULTILINE)
BOUND = re.compile(r"^_?MOST_\w+", re.MULTILINE)


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """Return the texts of all files that are installed, by where they are."""
    folders = [ROOT / "src", *(app / "src" for app in (ROOT / "apps").iterdir())]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}


def found(sources: dict[str, str], pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """Return what a pattern finds, with the file that it is in."""
    return {
        (file, match.group(match.re.groups))
        for file, text in sources.items()
        for match in pattern.finditer(text)
    }


def test_no_function_or_class_has_a_retired_name(sources):
    names = found(sources, DEFINED)

    assert len(names) > 5_000
    assert [f"{file}: {name}, say {RETIRED[name]}" for file, name in names if name in RETIRED] == []


def test_a_docstring_says_return_and_return_whether(sources):
    beginnings = found(sources, DOCUMENTED)

    assert len(beginnings) > 2_000
    assert [each for each in beginnings if each[1].startswith(OLD_BEGINNINGS)] == []


def test_a_constant_that_bounds_something_is_called_max(sources):
    assert found(sources, BOUND) == set()


def test_comments_and_docstrings_are_in_plain_words(sources):
    assert [
        f"{file}: {line.strip()}"
        for file, text in sources.items()
        if not file.endswith("/prompt.py")  # what a model reads
        for said in WRITTEN.findall(text)
        for line in said.splitlines()
        if PROSE.search(line)
    ] == []
