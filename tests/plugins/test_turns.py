"""Tests that take long run on one of their databases at a time."""

from tests.plugins.turns import (
    TAKES_TURNS,
    is_left_out,
    named_by_faults,
    whose_turn_it_is_not,
)

TWINS = [
    f"tests/crash/test_kills.py::test_kill[{database}-point {n}]"
    for n in range(40)
    for database in ("sqlite", "postgres")
]


def test_of_a_test_on_two_databases_one_waits():
    waiting = whose_turn_it_is_not(TWINS)

    assert all(
        (sqlite in waiting) != (postgres in waiting)
        for sqlite, postgres in zip(TWINS[::2], TWINS[1::2], strict=True)
    )


def test_each_database_gets_its_share():
    left = set(TWINS) - whose_turn_it_is_not(TWINS)

    assert 10 <= sum("sqlite" in name for name in left) <= 30


def test_whose_turn_it_is_does_not_depend_on_the_order():
    assert whose_turn_it_is_not(TWINS) == whose_turn_it_is_not(reversed(TWINS))


def test_a_test_on_one_database_never_waits():
    names = [
        "tests/crash/test_files.py::test_disk",
        "tests/crash/test_server.py::test_it[postgres]",
    ]

    assert whose_turn_it_is_not(names) == set()


def test_a_test_that_asks_for_one_database_twice_over_is_told_from_its_twin():
    names = ["tests/crash/t.py::test_x[sqlite-sqlite]", "tests/crash/t.py::test_x[postgres-sqlite]"]

    assert len(whose_turn_it_is_not(names)) == 1


def test_of_a_file_for_two_engines_one_waits():
    names = [f"apps/a/tests/test_x.py::test_y[{engine}-odd]" for engine in ("poppler", "pdfminer")]

    assert len(whose_turn_it_is_not(names)) == 1


def test_what_a_planted_fault_is_noticed_by_runs_on_both_databases():
    assert (
        "tests/store/test_conformance.py::TestStore::test_a_key_finds_the_job_of_its_own_owner"
        in named_by_faults()
    )


def test_the_store_itself_takes_no_turns():
    assert TAKES_TURNS.match("apps/converter/tests/acceptance/test_page.py::test_drop")
    assert not TAKES_TURNS.match("tests/store/test_conformance.py::test_claim")


def test_of_the_tests_through_a_pooler_one_in_three_runs_and_of_others_all():
    path = "tests/store/postgres/pgbouncer/test_conformance_through_pgbouncer.py"
    left_out = sum(is_left_out(f"{path}::TestStore::test_{number}") for number in range(300))

    assert 150 < left_out < 250
    assert not any(is_left_out(f"tests/store/test_conformance.py::test_{n}") for n in range(300))


def test_of_the_tests_in_a_browser_every_other_runs():
    path = "apps/grading/tests/pages/test_grading_learner.py"
    left_out = sum(is_left_out(f"{path}::test_{number}") for number in range(300))

    assert 100 < left_out < 200


def test_what_notices_a_planted_fault_is_never_left_out():
    in_the_store, anywhere = set(named_by_faults("src/holdfast/store/")), set(named_by_faults())

    assert in_the_store < anywhere
