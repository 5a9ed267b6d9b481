"""The order in which workers take files."""

from tests.plugins.order import HURTS_A_BROKER, MANY, in_order

WAITING = [f"tests/crash/test_{n}.py" for n in range(3)] + ["tests/cli/test_x.py"]
COMPUTING = [f"tests/core/test_{n}.py" for n in range(6)]
SIZES = dict.fromkeys([*WAITING, *COMPUTING, *HURTS_A_BROKER], 5)


def test_every_file_is_taken_once():
    assert sorted(in_order(SIZES)) == sorted(SIZES)


def test_what_hurts_a_broker_begins():
    assert set(in_order(SIZES)[: len(HURTS_A_BROKER)]) == set(HURTS_A_BROKER)


def test_files_that_wait_alternate_with_files_that_compute():
    taken = [file for file in in_order(SIZES) if file not in HURTS_A_BROKER]

    assert [file.startswith("tests/core/") for file in taken[:8]] == [False, True] * 4


def test_what_takes_longest_comes_first_on_either_side():
    sizes = {**dict.fromkeys(reversed(WAITING), 5), **dict.fromkeys(COMPUTING, 5)}
    sizes[COMPUTING[-1]] = MANY

    assert in_order(sizes)[1] == COMPUTING[-1]
    assert [file for file in in_order(sizes) if file in WAITING][-1] == "tests/cli/test_x.py"
