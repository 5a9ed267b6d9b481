"""What `from holdfast import …` offers is listed once, in order, and is all there is."""

import inspect
import re
import types
from pathlib import Path

import holdfast
from holdfast import testing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"


def offered(module: types.ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def test_the_list_is_what_can_be_imported():
    assert set(holdfast.__all__) == offered(holdfast)
    assert set(testing.__all__) == offered(testing)


def test_the_list_is_in_order_and_names_nothing_twice():
    for module in (holdfast, testing):
        assert list(module.__all__) == sorted(set(module.__all__))


def test_every_public_name_has_a_docstring():
    bare = [
        name
        for name in holdfast.__all__
        if not (getattr(holdfast, name).__doc__ or "").strip()
        or getattr(holdfast, name).__doc__ == dict.__doc__
    ]

    assert bare == []


def test_every_public_name_is_in_the_reference():
    quoted = " ".join(re.findall(r"`([^`]+)`", REFERENCE.read_text("utf-8")))
    words = set(re.findall(r"\w+", quoted))

    # Errors have a page of their own.
    errors = {name for name in holdfast.__all__ if name.endswith("Error")}
    assert set(holdfast.__all__) - errors <= words


def test_the_package_says_that_it_is_typed():
    assert (Path(holdfast.__file__).parent / "py.typed").exists()
