"""What systems that share a process are set to, and what an operator is told about it."""

import pytest

from holdfast.systems import Parts, System
from holdfast.systems.knobs import knobs, read_by, remarks_on
from holdfast.variables import Variables


def a_system(name, attempts, **options) -> System:
    """Return a system that reads some variables, with its own default for the attempts."""

    def read(environment):
        given = Variables.of(environment, system=name)
        given.whole("RETRY_MAX_ATTEMPTS", attempts, most=99)
        given.number("CIRCUIT_FAIL_THRESHOLD", 0.5, least=0.01, most=1)
        given.text(f"{name.upper()}_URL", "http://127.0.0.1")
        given.maybe("API_TOKEN")
        given.text("DATABASE_URL", "sqlite:///holdfast.db")
        given.text("HOLDFAST_PORT", "8000")

    return System(
        name=name, title=name, build=lambda _: Parts(), **{"read_settings": read, **options}
    )


PRESS, OFFICE = a_system("press", 3), a_system("office", 5)


def told(environment, *systems):
    return [remark.message for remark in remarks_on(read_by(systems, environment), environment)]


def values(environment, name, *systems):
    found = knobs(read_by(systems, environment))
    return {knob.system: (knob.value, str(knob.origin)) for knob in found if knob.name == name}


def test_each_value_is_shown_with_where_it_comes_from():
    environment = {"RETRY_MAX_ATTEMPTS": "7", "OFFICE_RETRY_MAX_ATTEMPTS": "2"}

    assert values(environment, "RETRY_MAX_ATTEMPTS", PRESS, OFFICE) == {
        "press": ("7", "environment RETRY_MAX_ATTEMPTS"),
        "office": ("2", "environment OFFICE_RETRY_MAX_ATTEMPTS"),
    }
    assert values({}, "RETRY_MAX_ATTEMPTS", PRESS, OFFICE) == {
        "press": ("3", "default"),
        "office": ("5", "default"),
    }


def test_what_belongs_to_the_process_is_no_knob_of_a_system():
    assert values({"DATABASE_URL": "sqlite:///x.db"}, "DATABASE_URL", PRESS) == {}


def test_where_the_process_listens_moves_no_system():
    assert told({"HOLDFAST_PORT": "8123"}, PRESS, OFFICE) == []


def test_no_secret_is_shown():
    environment = {
        "OFFICE_API_TOKEN": "hunter2-hunter2",
        "PRESS_URL": "https://ada:hunter2-hunter2@press.example.org",
    }

    shown = [knob.value for knob in knobs(read_by([PRESS, OFFICE], environment))]

    assert "***" in shown
    assert "https://ada:***@press.example.org" in shown
    assert "hunter2" not in str(shown)


def test_a_plain_name_that_moves_one_of_several_off_its_default_is_told():
    [line] = told({"RETRY_MAX_ATTEMPTS": "3"}, PRESS, OFFICE)

    assert line == (
        "RETRY_MAX_ATTEMPTS=3 counts for every system that runs: office uses 3 instead of 5; "
        "set it for one alone with its name before it, such as OFFICE_RETRY_MAX_ATTEMPTS"
    )


def test_one_that_moves_all_of_them_is_told_once():
    [line] = told({"RETRY_MAX_ATTEMPTS": "9"}, PRESS, OFFICE)

    assert "press uses 9 instead of 3 and office uses 9 instead of 5" in line


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"CIRCUIT_FAIL_THRESHOLD": "0.50"},
        {"OFFICE_RETRY_MAX_ATTEMPTS": "3"},
        {"RETRY_MAX_ATTEMPTS": "3", "OFFICE_RETRY_MAX_ATTEMPTS": "5"},
        {"DATABASE_URL": "sqlite:///x.db"},
    ],
)
def test_nothing_is_told_where_nothing_is_moved_by_accident(environment):
    assert told(environment, PRESS, OFFICE) == []


def test_nothing_is_told_where_one_system_alone_reads_it():
    assert told({"RETRY_MAX_ATTEMPTS": "9"}, PRESS) == []


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("PRESS_RETRY_MAX_ATTEMPT", "did you mean PRESS_RETRY_MAX_ATTEMPTS?"),
        ("PRESS_RETRY_ATTEMPTS_MAX", "did you mean PRESS_RETRY_MAX_ATTEMPTS?"),
        ("PRESS_URI", "did you mean PRESS_URL?"),
        ("PRESS_COLOUR", "see: holdfast config show"),
        ("PRESS_WORKER_CONCURRENCY", "all systems of a process share it; set WORKER_CONCURRENCY"),
        ("PRESS_DATABASE_URL", "all systems of a process share it; set DATABASE_URL"),
    ],
)
def test_a_variable_with_a_systems_name_that_sets_nothing_is_told(variable, advice):
    [line] = told({variable: "4"}, PRESS, OFFICE)

    assert line.startswith(f"{variable} ")
    assert line.endswith(advice)


@pytest.mark.parametrize("variable", ["PRESS_URL", "OFFICE_CIRCUIT_FAIL_THRESHOLD", "PRESSED"])
def test_what_is_known_or_of_others_is_not(variable):
    assert told({variable: "1"}, PRESS, OFFICE) == []


def test_variables_of_other_programs_of_a_system_are_not():
    press = a_system("press", 3, other_variables=("PRESS_COLOUR",))

    assert told({"PRESS_COLOUR": "blue"}, press) == []


def test_a_system_with_a_longer_name_has_its_own_variables():
    assert told({"PRESS_ROOM_RETRY_MAX_ATTEMPTS": "4"}, PRESS, a_system("press-room", 3)) == []
