"""Pictures made of figures."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.console.charts.charts import (
    HEIGHT,
    Column,
    Part,
    Series,
    bars,
    ceiling,
    circuit,
    share,
    sparkline,
    swatch,
)
from holdfast.core.upstream.upstream import Gate

TWO = (Series("fine", "good"), Series("failed", "bad"))
HOSTILE = '"><script>alert(1)</script>'


def heights(picture: str, tone: str) -> list[float]:
    found = re.findall(rf'<rect class="fill-{tone}"[^>]* height="([\d.]+)"', picture)
    return [float(height) for height in found]


@given(st.integers(min_value=0, max_value=10**12))
def test_a_scale_ends_at_a_round_number_above_everything(most: int):
    top = ceiling(most)

    assert top >= most
    assert top <= max(10 * most, 3)
    assert top % 3 == 0


def test_bars_stand_in_proportion_and_say_what_they_are():
    columns = [Column("10:00", "ten", (30, 0)), Column("", "later", (10, 20))]

    picture = bars(columns, TWO, label="an hour")

    (tall, low), (failed,) = heights(picture, "good"), heights(picture, "bad")
    assert tall == pytest.approx(3 * low, abs=0.1)
    assert failed == pytest.approx(2 * low, abs=0.1)
    assert max(tall, low + failed) <= HEIGHT
    assert 'aria-label="an hour"' in picture
    assert "<title>ten</title>" in picture


def test_bars_without_anything_are_a_scale_and_no_more():
    picture = bars([Column("", "x", (0, 0))], TWO, label="nothing")

    assert heights(picture, "good") == []
    assert "nothing" in picture


@given(st.lists(st.integers(min_value=0, max_value=10**9), min_size=1, max_size=6))
def test_parts_never_fill_more_than_the_whole(values: list[int]):
    picture = share([Part(f"p{value}", "good", value) for value in values])

    widths = [float(width) for width in re.findall(r' width="([\d.]+)"', picture)]
    assert sum(widths) <= 100.1


def test_a_share_of_something_larger_leaves_room():
    picture = share([Part("due", "warn", 25)], whole=100)

    assert ' width="25"' in picture
    assert 'aria-label="25 due"' in picture
    assert 'aria-label="nothing"' in share([])


def test_what_pictures_say_cannot_become_markup():
    pictures = (
        bars([Column(HOSTILE, HOSTILE, (1, 1))], TWO, label=HOSTILE),
        share([Part(HOSTILE, "good", 1)], label=HOSTILE),
        share([Part(HOSTILE, "good", 1)]),
        sparkline([1, 2], label=HOSTILE),
        swatch(HOSTILE),
    )

    for picture in pictures:
        assert "<script" not in picture
        assert "style=" not in picture


def test_each_gate_has_a_picture_of_its_own():
    pictures = {circuit(gate) for gate in Gate} | {circuit(Gate.CLOSED, trickle=True)}

    assert len(pictures) == 4


def test_a_line_needs_two_points():
    assert sparkline([1], label="x") == ""
    assert "polyline" in sparkline([1, 3], label="x")
