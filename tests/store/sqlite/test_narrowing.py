"""What was not asked for is not in the statement."""

from holdfast.store.sqlite.narrowing import narrowed

STATEMENT = """select id
  from thing
 where id < :before
   and (:owner is null or owner = :owner)
   and (:name is null or (name = :name and open))
 order by id"""


def test_a_condition_without_a_value_is_left_out():
    assert narrowed(STATEMENT, {"owner": None, "name": None}).splitlines() == [
        "select id",
        "  from thing",
        " where id < :before",
        " order by id",
    ]


def test_a_condition_with_a_value_is_nothing_but_that_condition():
    text = narrowed(STATEMENT, {"owner": "", "name": "x"})

    assert "   and (owner = :owner)\n   and ((name = :name and open))\n" in text
    assert "is null" not in text
