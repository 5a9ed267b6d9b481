"""What a program imports is listed once, in order, and is all there is."""

import ast
import inspect
import re
import types
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import holdfast
from holdfast import testing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
THIN = [
    import_module(f"holdfast.{name}")
    for name in (
        "answers",
        "dead_letters",
        "deliveries",
        "jobs",
        "messaging",
        "policies",
        "retention",
        "transactions",
        "workers",
    )
]
"""The modules that define nothing: they are where programs find names."""
LISTED = [holdfast, *THIN, import_module("holdfast.classify"), testing]
MAX_NAMES = 25
"""So many does `holdfast` itself have at most; what not every program uses goes elsewhere."""


def offered(module: types.ModuleType) -> set[str]:
    for name in module.__all__:
        getattr(module, name)  # loaded when it is first used
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def test_the_lists_are_what_can_be_imported():
    assert {
        module.__name__: set(module.__all__) ^ offered(module)
        for module in LISTED
        if set(module.__all__) != offered(module)
    } == {}


def test_names_that_are_loaded_later_are_where_type_checkers_see_them():
    tree = ast.parse(Path(holdfast.__file__).read_text("utf-8"))
    seen = {
        f"{each.module}.{alias.name}"
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }

    assert seen == {
        f"holdfast.{place}.{name}"
        for place, names in holdfast._PLACES.items()
        for name in names.split()
    }


def test_the_lists_are_in_order_and_name_nothing_twice():
    def in_order(names: list[str]) -> list[str]:
        return sorted(set(names), key=lambda name: (not name.isupper(), name[0].islower(), name))

    assert [one.__name__ for one in LISTED if list(one.__all__) != in_order(one.__all__)] == []


def test_holdfast_itself_has_what_every_program_uses_and_no_more():
    assert len(holdfast.__all__) <= MAX_NAMES


def test_a_name_is_in_one_module():
    named = Counter(name for module in LISTED for name in module.__all__)

    assert [name for name, count in named.items() if count > 1] == []


def test_every_public_name_has_a_docstring():
    bare = [
        name
        for module in (holdfast, *THIN)
        for name in module.__all__
        if not (getattr(module, name).__doc__ or "").strip()
        or getattr(module, name).__doc__ == dict.__doc__
    ]

    assert bare == []


def test_the_reference_lists_what_each_module_has():
    rows = re.findall(
        r"^\| `(holdfast[\w.]*)` \| (.*) \|$", REFERENCE.read_text("utf-8"), re.MULTILINE
    )
    listed = {module: re.findall(r"`(\w+)`", names) for module, names in rows}

    assert {one.__name__: sorted(one.__all__) for one in (holdfast, *THIN)} == {
        one.__name__: sorted(listed[one.__name__]) for one in (holdfast, *THIN)
    }


def test_a_name_that_has_moved_is_found_and_says_where_it_is():
    with pytest.warns(DeprecationWarning, match=r"import WorkerOptions from holdfast\.workers"):
        found = holdfast.WorkerOptions

    assert found is import_module("holdfast.workers").WorkerOptions
    assert {
        name
        for module, names in holdfast._MOVED.items()
        for name in names.split()
        if name not in import_module(f"holdfast.{module}").__all__
    } == set()
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = holdfast.Nothing


def test_the_package_says_that_it_is_typed():
    assert (Path(holdfast.__file__).parent / "py.typed").exists()
