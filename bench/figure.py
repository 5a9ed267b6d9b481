"""One measured figure, and the middle of several."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Rate:
    """Jobs per second; more is better."""

    per_second: float


@dataclass(frozen=True, slots=True)
class Delay:
    """Milliseconds at the median and the 99th percentile; compared by the median."""

    milliseconds: float
    milliseconds_p99: float


@dataclass(frozen=True, slots=True)
class Tail:
    """Milliseconds as in `Delay`; compared by the 99th percentile."""

    milliseconds: float
    milliseconds_p99: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of one call."""

    microseconds: float


@dataclass(frozen=True, slots=True)
class Share:
    """Percent of one core."""

    percent: float


@dataclass(frozen=True, slots=True)
class Growth:
    """Megabytes of resident memory; below zero when it shrank."""

    megabytes: float


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things."""

    count: float


Figure = Rate | Delay | Tail | Cost | Share | Growth | Count


def size_of(figure: Figure) -> float:
    """The one number by which figures of a kind are compared and held to a target."""
    match figure:
        case Rate(number) | Delay(number) | Cost(number) | Share(number) | Growth(number):
            return number
        case Tail(_, milliseconds_p99):
            return milliseconds_p99
        case Count(number):
            return number


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def delay_of(waits_ns: Sequence[int]) -> Delay:
    return Delay(
        milliseconds=median(waits_ns) / 1e6, milliseconds_p99=percentile(waits_ns, 0.99) / 1e6
    )


def tail_of(waits_ns: Sequence[int]) -> Tail:
    return Tail(
        milliseconds=median(waits_ns) / 1e6, milliseconds_p99=percentile(waits_ns, 0.99) / 1e6
    )


def middle(figures: Sequence[Figure]) -> Figure:
    """The median of repeated measurements of one workload on one system."""
    kind = type(figures[0])
    return kind(
        *(median(getattr(figure, name) for figure in figures) for name in kind.__match_args__)
    )


def in_words(figure: Figure) -> tuple[str, str]:
    """The figure with its unit, and its 99th percentile where it has one."""
    match figure:
        case Rate(per_second):
            return f"{per_second:,.0f} /s", ""
        case Delay(milliseconds, p99) | Tail(milliseconds, p99):
            return f"{milliseconds:.2f} ms", f"{p99:.2f} ms"
        case Cost(microseconds):
            return f"{microseconds:,.2f} µs", ""
        case Share(percent):
            return f"{percent:.2f} %", ""
        case Growth(megabytes):
            return f"{megabytes:+.2f} MB", ""
        case Count(number):
            return f"{number:.3g}", ""


def in_a_line(figure: Figure) -> str:
    shown, p99 = in_words(figure)
    return f"{shown}, p99 {p99}" if p99 else shown
