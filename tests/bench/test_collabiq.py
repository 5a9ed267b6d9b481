"""Collabiq's measures, for a moment; `make bench` takes the figures."""

import pytest

from bench.collabiq.notion import WatchedNotion
from bench.database import SqlitePlace
from bench.figure import size_of
from bench.measure import Conditions
from bench.measures.collabiq import _pace, parts


def test_the_most_calls_of_a_window_are_counted():
    notion = WatchedNotion(None)
    notion.called_s = [0.0, 0.1, 0.2, 5.0, 5.5, 5.9, 6.0, 20.0]

    assert notion.most_within(1.0) == 3
    assert notion.most_within(1.01) == 4
    assert notion.most_within(100.0) == 8


def test_parts_have_figures():
    found = {each.workload: size_of(each.figure) for each in parts(Conditions({}, quick=True))}

    assert set(found) == {
        "collabiq-clean",
        "collabiq-clean-growth",
        "collabiq-match",
        "collabiq-secrets",
    }
    assert all(figure > 0 for figure in found.values())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mails_become_rows_and_no_call_is_one_too_many(tmp_path):
    with SqlitePlace(tmp_path).fresh() as database:
        pace, notion = _pace(database, 10)

    assert pace > 0
    assert (len(notion.made_s), notion.too_many) == (10, 0)
