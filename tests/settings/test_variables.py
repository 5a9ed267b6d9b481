"""Variables that systems are set up by are read strictly, and refused by name."""

import pytest

from holdfast.errors import InvalidSetting
from holdfast.variables import Variables

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
