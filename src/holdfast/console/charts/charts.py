"""Pictures as SVG: bars over time, shares of a whole, sparklines and the state of a breaker.

They hold no style of their own, only classes, so that they follow the page into the dark and pass
a policy that forbids inline styles. What a picture says stands in its label as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from holdfast.core.upstream.upstream import Gate

WIDTH: Final = 720
HEIGHT: Final = 224
LEFT: Final = 34
BOTTOM: Final = 22
TOP: Final = 6
LINES: Final = 3
GAP: Final = 0.24
"""How much of the room of a bar stays empty."""
_NICE: Final = (1, 2, 5)
_TWO_ROWS: Final = 2
_LEAST_TOP: Final = 3


class Series(NamedTuple):
    """One of the things that are stacked: its word and its tone."""

    name: str
    tone: str


class Column(NamedTuple):
    """One bar: what stands below it, what it is called, and how much of each series it holds."""

    label: str
    title: str
    values: tuple[int, ...]


class Part(NamedTuple):
    """A share of a whole."""

    name: str
    tone: str
    value: int


def ceiling(most: int) -> int:
    """Return a round number that is no less than `most`."""
    if most <= _LEAST_TOP:
        return _LEAST_TOP
    unit = 1
    while True:
        for nice in _NICE:
            if nice * unit * LINES >= most:
                return nice * unit * LINES
        unit *= 10


def bars(
    columns: Sequence[Column], series: Sequence[Series], *, label: str, height: int = HEIGHT
) -> Markup:
    """Return stacked bars, one for each column, with a scale beside them."""
    top = ceiling(max((sum(column.values) for column in columns), default=0))
    high = height - BOTTOM - TOP
    room = (WIDTH - LEFT) / max(len(columns), 1)
    drawn = [_scale(top, high)]
    for index, column in enumerate(columns):
        x = LEFT + index * room + room * GAP / 2
        y = float(TOP + high)
        parts = [Markup("<title>{}</title>").format(column.title)]
        for value, each in zip(column.values, series, strict=True):
            if value:
                tall = max(value / top * high, 1.5)
                y -= tall
                parts.append(_rect(x, y, room * (1 - GAP), tall, each.tone))
        hover = Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="none"/>')
        parts.append(hover.format(_n(x), TOP, _n(room * (1 - GAP)), high))
        drawn.append(Markup('<g pointer-events="all">') + Markup("").join(parts) + Markup("</g>"))
        if column.label:
            drawn.append(
                Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                    _n(LEFT + (index + 0.5) * room), height - 5, column.label
                )
            )
    return _svg(drawn, width=WIDTH, height=height, label=label)


def share(parts: Sequence[Part], *, whole: int | None = None, label: str | None = None) -> Markup:
    """Return one bar that the parts divide; the rest of `whole` stays empty."""
    given = sum(part.value for part in parts)
    total = max(given if whole is None else whole, given, 1)
    x = 0.0
    drawn = []
    for part in parts:
        if part.value:
            wide = part.value / total * 100
            drawn.append(_rect(x, 0, wide, 8, part.tone))
            x += wide
    said = ", ".join(f"{part.value} {part.name}" for part in parts if part.value) or "nothing"
    picture = Markup(
        '<svg class="chart meter" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        'aria-label="{}">'
    ).format(label or said)
    return picture + Markup("").join(drawn) + Markup("</svg>")


def sparkline(
    values: Sequence[float], *, label: str, width: int = 120, height: int = 28, before: int = 0
) -> Markup:
    """Return a line without a scale, for beside a figure, after `before` places left free."""
    most = max([*values, 1])
    step = width / max(before + len(values) - 1, 1)
    points = [
        f"{_n((before + index) * step)},{_n(height - 2 - value / most * (height - 4))}"
        for index, value in enumerate(values)
    ]
    if len(points) < _TWO_ROWS:
        return Markup("")
    area = f"{_n(before * step)},{height} {' '.join(points)} {width},{height}"
    return _svg(
        [
            Markup('<polygon class="area-accent" points="{}"/>').format(area),
            Markup('<polyline class="line-accent" points="{}"/>').format(" ".join(points)),
        ],
        width=width,
        height=height,
        label=label,
    )


def circuit(gate: Gate, *, trickle: bool = False) -> Markup:
    """Return the breaker as a switch: shut, half raised, or open; `trickle` when some pass."""
    arm = {
        Gate.CLOSED: "M72 20 L128 20",
        Gate.HALF_OPEN: "M72 20 L126 10",
        Gate.OPEN: "M72 20 L112 2",
    }[gate]
    after = "wire" if gate is Gate.CLOSED else "wire faint"
    dots = {Gate.CLOSED: (16, 36, 56, 150, 170, 190), Gate.HALF_OPEN: (36, 56), Gate.OPEN: ()}[gate]
    if trickle:
        dots = (36, 170)
    drawn = [
        Markup('<path class="wire" d="M4 20 H66"/>'),
        Markup('<path class="{}" d="M134 20 H196"/>').format(after),
        Markup('<path class="wire" d="{}"/>').format(arm),
        *(Markup('<circle class="flow" cx="{}" cy="20" r="3.5"/>').format(x) for x in dots),
        Markup('<circle class="contact" cx="69" cy="20" r="4.5"/>'),
        Markup('<circle class="contact" cx="131" cy="20" r="4.5"/>'),
    ]
    opening = Markup('<svg class="circuit" viewBox="0 0 200 34" aria-hidden="true">')
    return opening + Markup("").join(drawn) + Markup("</svg>")


def swatch(tone: str) -> Markup:
    """Return the colour of a series for the key beside a picture."""
    return Markup(
        '<svg class="chart" viewBox="0 0 10 10" aria-hidden="true">'
        '<rect class="fill-{}" width="10" height="10" rx="3"/></svg>'
    ).format(tone)


def _scale(top: int, high: int) -> Markup:
    drawn = []
    for line in range(LINES + 1):
        y = TOP + high - line / LINES * high
        drawn.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                LEFT, WIDTH, _n(y), _n(y)
            )
        )
        drawn.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                LEFT - 6, _n(y + 4), _short(top * line // LINES)
            )
        )
    return Markup("").join(drawn)


def _rect(x: float, y: float, wide: float, tall: float, tone: str) -> Markup:
    return Markup('<rect class="fill-{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        tone, _n(x), _n(y), _n(wide), _n(tall)
    )


def _svg(drawn: Sequence[Markup], *, width: int, height: int, label: str) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        width, height, escape(label)
    )
    return opening + Markup("").join(drawn) + Markup("</svg>")


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _short(number: int) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else str(number)  # noqa: PLR2004 - a thousand
