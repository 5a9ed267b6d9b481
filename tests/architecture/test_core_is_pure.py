"""The core decides from what it is given: it can reach no clock, no chance and no outside.

So does redaction.
"""

import ast
import sys
from pathlib import Path

import holdfast

CORE = Path(holdfast.__file__).parent / "core"
PURE = {
    "__future__",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "datetime",
    "decimal",
    "email.utils",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "types",
    "typing",
    "unicodedata",
    "urllib.parse",
    "uuid",
    "zlib",
}
OWN = ("holdfast.core", "holdfast.errors")
REDACTION = "holdfast.redaction"
IMPURE_METHODS = {"now", "utcnow", "today", "uuid1", "uuid4", "getnode"}
IMPURE_FUNCTIONS = {"open", "input", "print", "exec", "eval", "__import__", "uuid1", "uuid4"}
FILES = sorted(CORE.rglob("*.py"))
REDACTING = sorted((CORE.parent / "redaction").rglob("*.py"))


def imports_of(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def foreign_imports(files: list[Path], own: tuple[str, ...]) -> set[tuple[str, str]]:
    return {
        (file.stem, name)
        for file in files
        for name in imports_of(ast.parse(file.read_text("utf-8")))
        if not name.startswith(own) and name not in PURE
    }


def test_it_imports_nothing_but_itself_and_the_pure_standard_library():
    assert foreign_imports(FILES, OWN) == set()
    assert foreign_imports(REDACTING, (REDACTION, "holdfast.errors")) == set()


def impure_calls_of(tree: ast.AST) -> set[str]:
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = {function.attr for function in called if isinstance(function, ast.Attribute)}
    functions = {function.id for function in called if isinstance(function, ast.Name)}
    return methods & IMPURE_METHODS | functions & IMPURE_FUNCTIONS


def test_it_calls_nothing_that_reads_a_clock_or_the_outside():
    found = {
        file.stem: impure_calls_of(ast.parse(file.read_text("utf-8"))) for file in FILES + REDACTING
    }

    assert {name: calls for name, calls in found.items() if calls} == {}


def test_the_errors_it_may_use_are_as_pure():
    errors = CORE.parent / "errors.py"

    assert imports_of(ast.parse(errors.read_text("utf-8"))) <= PURE


def test_what_is_called_pure_is_of_the_standard_library():
    assert {name.partition(".")[0] for name in PURE} <= sys.stdlib_module_names
    assert PURE & {"time", "os", "random", "socket", "threading", "logging", "sqlite3"} == set()


def test_the_core_was_found():
    assert {"lifecycle", "job", "retry", "document"} <= {file.stem for file in FILES}
    assert {"redactor", "tokens", "key_names"} <= {file.stem for file in REDACTING}
