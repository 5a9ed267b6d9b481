"""Variables that systems are set up by are read strictly, and refused by name."""

import pytest

from holdfast.config.sources import FURTHER_VARIABLES
from holdfast.errors import InvalidSetting
from holdfast.variables import OF_PROCESS, Variables

GIVEN = Variables(
    {"WORD": "  Hold ", "EMPTY": "  ", "COUNT": "12", "SHARE": "0.25", "WAIT_MS": "1500"}
)


def test_what_is_set_is_read_without_the_space_around_it():
    assert GIVEN.text("WORD", "x") == "Hold"
    assert GIVEN.maybe("WORD") == "Hold"
    assert GIVEN.one_of("WORD", ("hold", "go"), default="go") == "hold"
    assert GIVEN.whole("COUNT", 1, most=12) == 12
    assert GIVEN.number("SHARE", 1.0, least=0.1, most=1) == 0.25
    assert GIVEN.seconds("WAIT_MS", 9.0) == 1.5
    assert GIVEN.size("COUNT", 1) == 12


def test_what_is_empty_or_missing_is_not_set():
    assert (GIVEN.text("EMPTY", "x"), GIVEN.maybe("EMPTY"), GIVEN.maybe("MISSING")) == (
        "x",
        None,
        None,
    )
    assert GIVEN.seconds("MISSING", 9.0) == 9.0
    assert GIVEN.number("MISSING", 0.0, least=0.1, most=1) == 0.0


@pytest.mark.parametrize(
    ("read", "limit"),
    [
        (lambda: GIVEN.whole("COUNT", 1, most=11), "a whole number from 0 to 11"),
        (lambda: GIVEN.whole("SHARE", 1, most=11), "a whole number from 0 to 11"),
        (lambda: GIVEN.number("SHARE", 1.0, least=0.5, most=1), "a number from 0.5 to 1"),
        (lambda: GIVEN.number("WORD", 1.0, least=0.5, most=1), "a number from 0.5 to 1"),
        (lambda: GIVEN.one_of("WORD", ("stay", "go"), default="go"), "one of stay, go"),
        (lambda: GIVEN.size("WORD", 1), "a whole number from 1 to 1099511627776"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_name_and_its_limit(read, limit):
    with pytest.raises(InvalidSetting) as refused:
        read()

    assert refused.value.field in str(refused.value)
    assert refused.value.limit == limit


OF_TWO = {
    "RETRY_MAX_ATTEMPTS": "3",
    "PRESS_RETRY_MAX_ATTEMPTS": " 7 ",
    "POST_OFFICE_WAIT_MS": "250",
    "PRESS_EMPTY": " ",
    "EMPTY": "plain",
    "PRESS_DATABASE_URL": "sqlite:///own.db",
    "DATABASE_URL": "sqlite:///shared.db",
}


def test_the_systems_name_before_a_variable_sets_it_for_that_system_and_wins():
    press, office, nobody = (
        Variables(OF_TWO, system="press"),
        Variables(OF_TWO, system="post-office"),
        Variables(OF_TWO),
    )

    assert press.whole("RETRY_MAX_ATTEMPTS", 5, most=9) == 7
    assert office.whole("RETRY_MAX_ATTEMPTS", 5, most=9) == 3
    assert nobody.whole("RETRY_MAX_ATTEMPTS", 5, most=9) == 3
    assert (office.seconds("WAIT_MS", 9.0), press.seconds("WAIT_MS", 9.0)) == (0.25, 9.0)
    assert press.text("EMPTY", "") == "plain"
    assert (press["RETRY_MAX_ATTEMPTS"].strip(), press.get("MISSING")) == ("7", None)


def test_what_a_process_has_once_is_the_same_for_all_systems():
    assert Variables(OF_TWO, system="press").text("DATABASE_URL", "") == "sqlite:///shared.db"


def test_the_names_that_a_process_has_once_are_those_of_settings():
    assert {name for name, _ in FURTHER_VARIABLES.values()} == OF_PROCESS


def test_it_is_remembered_what_was_looked_at_and_which_variable_gave_it():
    given = Variables(OF_TWO, system="press")
    given.whole("RETRY_MAX_ATTEMPTS", 5, most=9)
    given.number("SHARE", 0.5, least=0.1, most=1)
    given.seconds("WAIT_MS", 9.0)
    given.maybe("TOKEN")
    given.knows("OTHER", "SHARE")
    Variables.of(given, system="press").text("EMPTY", "x")

    assert [tuple(each) for each in given.readings.values()] == [
        ("RETRY_MAX_ATTEMPTS", "7", "5", "PRESS_RETRY_MAX_ATTEMPTS"),
        ("SHARE", "0.5", "0.5", None),
        ("WAIT_MS", "9000", "9000", None),
        ("TOKEN", None, None, None),
        ("OTHER", None, None, None),
        ("EMPTY", "plain", "x", "EMPTY"),
    ]


def test_what_cannot_be_used_is_refused_by_the_variable_that_gave_it():
    with pytest.raises(InvalidSetting) as refused:
        Variables(OF_TWO, system="press").whole("RETRY_MAX_ATTEMPTS", 5, most=6)

    assert refused.value.field == "PRESS_RETRY_MAX_ATTEMPTS"
