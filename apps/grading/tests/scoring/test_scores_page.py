"""The page about scores says what the code does."""

from pathlib import Path

from grading.llm.config import LlmConfig
from grading.scoring.caps import LIMITS
from grading.scoring.confidence import MAX_OF_RULES, WEIGHTS
from grading.scoring.criteria import ANCHORS
from holdfast.variables import Variables

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "grading-scores.md"


def rows():
    """The rows of all tables, by their first cell."""
    lines = PAGE.read_text("utf-8").splitlines()
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in lines if "|" in line]
    return {each[0].strip("`"): each[1:] for each in cells}


def test_every_cap_is_on_the_page_with_its_limit():
    found = rows()

    for cap, limit in LIMITS.items():
        assert float(found[cap.value][-1]) == limit


def test_every_factor_is_on_the_page_with_its_weight():
    found = rows()

    assert {name: int(found[name][0]) for name in WEIGHTS} == dict(WEIGHTS)
    assert f"never above {MAX_OF_RULES}" in PAGE.read_text("utf-8")


def test_the_levels_are_on_the_page():
    assert tuple(map(float, rows()["score"])) == ANCHORS


def test_every_variable_of_the_model_is_on_the_page():
    given = Variables({}, system="grading")
    LlmConfig.from_variables(given)
    text = PAGE.read_text("utf-8")

    assert [name for name in given.readings if f"`{name}`" not in text] == []
