import sys
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.cli.shell.app_location import locate
from holdfast.errors import UsageError

APP = 'Holdfast("sqlite://:memory:", pipelines=[])'


def module(name: str, text: str) -> str:
    path = Path(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"from holdfast import Holdfast\n{text}\n")
    for known in (name, name.partition(".")[0]):
        sys.modules.pop(known, None)
    return name


def refusal(location: str) -> str:
    with pytest.raises(UsageError) as caught:
        locate(location)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("loc_plain", f"app = {APP}", ":app"),
        ("loc_only", f"engine = {APP}", ""),
        ("loc_twice_named", f"app = {APP}\nsame = app", ""),
        ("loc_package.inner", f"app = {APP}", ":app"),
        ("loc_attribute", f"class Shop:\n    app = {APP}", ":Shop.app"),
        ("loc_factory", f"def make():\n    return {APP}", ":make"),
        ("loc_called", f"def make():\n    return {APP}", ":make()"),
    ],
)
def test_an_app_is_found_in_the_current_folder(name: str, text: str, path: str):
    assert isinstance(locate(f"{module(name, text)}{path}"), Holdfast)


def test_a_module_that_is_not_there_is_named():
    assert "there is no module 'loc_missing'" in refusal("loc_missing:app")
    assert "there is no module 'loc_missing'" in refusal("loc_missing.inner:app")


def test_a_module_that_another_needs_is_not_mistaken_for_it():
    name = module("loc_needs", "import loc_needed_but_missing")

    said = refusal(f"{name}:app")

    assert "ModuleNotFoundError: No module named 'loc_needed_but_missing'" in said
    assert "loc_needs.py, line 2" in said


def test_an_error_in_the_module_is_told_with_its_line():
    name = module("loc_broken", "x = 1 / 0")

    said = refusal(name)

    assert "ZeroDivisionError: division by zero" in said
    assert "loc_broken.py, line 2" in said
    assert "HOLDFAST_DEBUG=1" in said


def test_an_error_in_a_factory_is_told_with_its_line():
    name = module("loc_bad_factory", "def make():\n    raise OSError('no disk')")

    assert "OSError: no disk" in refusal(f"{name}:make")


def test_a_name_that_is_not_there_is_told_with_those_that_are():
    name = module("loc_other_name", f"application = {APP}")

    assert refusal(f"{name}:app").endswith("has no 'app'; try -A loc_other_name:application")


def test_something_else_than_a_holdfast_is_refused():
    name = module("loc_number", "app = 5")

    assert "that is a int, not a Holdfast" in refusal(f"{name}:app")


def test_several_apps_have_to_be_told_apart():
    name = module("loc_several", f"one = {APP}\ntwo = {APP}")

    assert refusal(name).endswith("try -A loc_several:one or -A loc_several:two")


def test_a_module_without_an_app_says_what_to_name():
    name = module("loc_empty", "")

    assert "holds no Holdfast" in refusal(name)


def test_a_file_name_is_answered_with_the_module_name():
    assert "such as shop.jobs, not its file" in refusal("shop/jobs.py:app")


def test_an_error_of_holdfasts_own_is_passed_on():
    name = module("loc_bad_url", 'app = Holdfast("mysql://h/x")')

    assert "it must be like sqlite:///holdfast.db" in refusal(name)
