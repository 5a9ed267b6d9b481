"""One measured figure, and the middle of several."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Rate:
    """Jobs per second; more is better."""

    per_second: float


@dataclass(frozen=True, slots=True)
class Delay:
    """Milliseconds at the median and the 99th percentile; less is better."""

    milliseconds: float
    milliseconds_p99: float


Figure = Rate | Delay


def delay_of(waits_ns: Sequence[int]) -> Delay:
    ordered = sorted(waits_ns)
    worst_percent = max(1, len(ordered) // 100)
    return Delay(milliseconds=median(ordered) / 1e6, milliseconds_p99=ordered[-worst_percent] / 1e6)


def middle(figures: Sequence[Figure]) -> Figure:
    """The median of repeated measurements of one workload on one system."""
    if isinstance(figures[0], Rate):
        return Rate(median(figure.per_second for figure in figures))
    return Delay(
        milliseconds=median(figure.milliseconds for figure in figures),
        milliseconds_p99=median(figure.milliseconds_p99 for figure in figures),
    )


def in_words(figure: Figure) -> str:
    match figure:
        case Rate(per_second):
            return f"{per_second:,.0f} /s"
        case Delay(milliseconds, milliseconds_p99):
            return f"{milliseconds:.2f} ms, p99 {milliseconds_p99:.2f} ms"
