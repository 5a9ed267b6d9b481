"""Words that were retired do not come back, and docstrings begin as PEP 257 has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


def sources() -> Iterator[Path]:
    yield from (ROOT / "src").rglob("*.py")
    yield from (file for app in (ROOT / "apps").iterdir() for file in (app / "src").rglob("*.py"))


def definitions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


@pytest.fixture(scope="module")
def defined() -> list[tuple[str, str, str]]:
    """Return where each function and class is defined, its name and its docstring."""
    return [
        (f"{file.relative_to(ROOT)}:{node.lineno}", node.name, ast.get_docstring(node) or "")
        for file in sources()
        for node in definitions(file)
    ]


def test_no_function_or_class_has_a_retired_name(defined):
    found = [
        f"{place}: {name}, say {RETIRED[name]}" for place, name, _ in defined if name in RETIRED
    ]

    assert not found, "\n".join(found)


def test_a_docstring_says_return_and_return_whether(defined):
    found = [
        f"{place}: {text.splitlines()[0]}"
        for place, _, text in defined
        if text.startswith(OLD_BEGINNINGS)
    ]

    assert not found, "\n".join(found)


def test_a_constant_that_bounds_something_is_called_max():
    wrong = re.compile(r"^_?MOST_\w+", re.MULTILINE)
    found = [str(file) for file in sources() if wrong.search(file.read_text("utf-8"))]

    assert not found, "\n".join(found)
