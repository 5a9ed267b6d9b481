"""The list of planted faults: each says one place in the code as it is."""

import re
from pathlib import Path

from mutants.fault import load
from mutants.page import PAGE

ROOT = Path(__file__).parents[2]


def test_every_fault_has_its_place_in_the_code_and_the_files_of_its_tests_are_there():
    faults = load()

    for fault in faults:
        code = (ROOT / fault.file).read_text("utf-8")
        assert fault.planted_in(code) != code, fault.name
        assert all((ROOT / test.partition("::")[0]).exists() for test in fault.tests), fault.name
    assert len(faults) > 200


def test_the_list_of_this_project_can_be_read_and_says_each_fault_once():
    faults = load()

    assert len({fault.name for fault in faults}) == len(faults)
    assert len({(fault.file, fault.before, fault.after) for fault in faults}) == len(faults)


def test_the_page_with_the_score_names_the_faults_of_the_list():
    page = (ROOT / PAGE).read_text(encoding="utf-8")

    assert re.findall(r"^- (.+?)(?: \(\*\*not caught\*\*\))?$", page, re.MULTILINE) == [
        fault.name for fault in load()
    ]
