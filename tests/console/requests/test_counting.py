"""How many jobs match is told as far as it is known in time."""

import pytest

from holdfast.console.requests import counting
from holdfast.console.requests.counting import Counted, counted
from holdfast.errors import ReadTooSlow
from holdfast.store.contract import JobFilter
from holdfast.store.statements.statement_timeout import longest_read_s


class Counting:
    """An engine whose jobs are counted in no time, or not in time."""

    def __init__(self, found: int | None) -> None:
        self._found = found
        self.given_s: float | None = None

    def count(self, wanted: JobFilter, *, at_most: int) -> int:
        self.given_s = longest_read_s()
        if self._found is None:
            raise ReadTooSlow(limit_s=1)
        return min(self._found, at_most)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (0, "0 jobs"),
        (1, "1 job"),
        (9_999, "9\u202f999 jobs"),
        (123_456, "10\u202f000 jobs or more"),
    ],
)
def test_jobs_are_counted_up_to_a_limit(found, told):
    assert str(counted(Counting(found), JobFilter())) == told


def test_a_count_that_takes_too_long_says_what_was_seen():
    engine = Counting(None)

    assert str(counted(engine, JobFilter(), seen=51)) == "51 jobs or more"
    assert str(counted(engine, JobFilter())) == "Very many jobs"
    assert engine.given_s == counting.PATIENCE_S


def test_what_is_known_to_be_nothing_is_not_taken_for_very_many():
    assert Counted(0) != Counted(0, more=True)
