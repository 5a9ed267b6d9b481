"""The order in which workers take files."""

import pytest

from tests.plugins.order import (
    HURTS_A_BROKER,
    LOADS_SDKS,
    MANY,
    TAKES_LONG,
    TogetherByFile,
    in_order,
)

WAITING = [f"tests/crash/test_{n}.py" for n in range(3)] + ["tests/cli/test_x.py"]
COMPUTING = [f"tests/core/test_{n}.py" for n in range(6)]
TOGETHER = [*HURTS_A_BROKER, *LOADS_SDKS]
SIZES = dict.fromkeys([*WAITING, *COMPUTING, *TOGETHER], 5)


def test_every_file_is_taken_once():
    assert sorted(in_order(SIZES)) == sorted(SIZES)


def test_what_stays_together_begins():
    assert in_order(SIZES)[: len(TOGETHER)] == TOGETHER


@pytest.mark.parametrize("files", [HURTS_A_BROKER, LOADS_SDKS])
def test_one_worker_takes_what_stays_together(pytestconfig, files):
    scheduling = TogetherByFile.__new__(TogetherByFile)

    assert len({scheduling._split_scope(f"{file}::test_it") for file in files}) == 1
    assert scheduling._split_scope("tests/x.py::test_it") == "tests/x.py"
    assert all((pytestconfig.rootpath / file).exists() for file in (*files, *TAKES_LONG))


def test_files_that_wait_alternate_with_files_that_compute():
    taken = [file for file in in_order(SIZES) if file not in TOGETHER]

    assert [file.startswith("tests/core/") for file in taken[:8]] == [False, True] * 4


def test_what_takes_longest_comes_first_on_either_side():
    sizes = {**dict.fromkeys(reversed(WAITING), 5), **dict.fromkeys(COMPUTING, 5)}
    sizes[COMPUTING[-1]] = MANY
    of_few_tests = ["tests/mutants/test_x.py", "tests/api/routes/operating/test_schema.py"]
    sizes |= dict.fromkeys(of_few_tests, 2)

    taken = in_order(sizes)
    assert {*taken[1:4:2]} == {COMPUTING[-1], of_few_tests[0]}
    assert taken.index(of_few_tests[1]) < taken.index("tests/cli/test_x.py")
    assert [file for file in taken if file in WAITING][-1] == "tests/cli/test_x.py"
