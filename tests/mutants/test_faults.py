"""The list of planted faults: each says one place in the code as it is."""

from pathlib import Path

from mutants.fault import load

ROOT = Path(__file__).parents[2]


def test_every_fault_has_its_place_in_the_code_and_the_files_of_its_tests_are_there():
    faults = load()

    for fault in faults:
        code = (ROOT / fault.file).read_text("utf-8")
        assert fault.planted_in(code) != code, fault.name
        assert all((ROOT / test.partition("::")[0]).exists() for test in fault.tests), fault.name
    assert len(faults) > 200
