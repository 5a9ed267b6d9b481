"""What follows from every event at every gate, written out.

A line reads: an upstream that stands so, met by that event, leads to this. `-` means empty,
`nothing` means that nothing changes. The policy opens after 3 failures in a row, cools down for
30 s, lets 2 trials be under way and wants 2 successes. The upstream is in its sixth generation;
while half open, one trial of two has succeeded and permit 2 is out, of a worker called `w`.
"""

from typing import NamedTuple

from holdfast.core.upstream.breaker import (
    ForceAsked,
    Observed,
    PermitsAsked,
    ProbeAsked,
    RateLimited,
    ResetAsked,
    TrialEnded,
)
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate, Permit, Sample, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant

NOW = Instant(1_800_000_000 * SECOND_US)
POLICY = Breaker(consecutive=3, cooldown=30, growth=2, trials=2, successes=2, trial_timeout=60)


def at(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND_US))


CLOSED = UpstreamState(
    "gateway",
    revision=9,
    generation=6,
    since=at(-3_600),
    samples=(Sample(at(-5), "w", 0, 2),),
)
COOLING = UpstreamState(
    "gateway",
    revision=9,
    gate=Gate.OPEN,
    generation=6,
    since=at(-10),
    open_until=at(20),
    reopenings=1,
)
HALF_OPEN = UpstreamState(
    "gateway",
    revision=9,
    gate=Gate.HALF_OPEN,
    generation=6,
    since=at(-3),
    reopenings=1,
    successes=1,
    granted=2,
    permits=(Permit(2, "w", at(57)),),
)
STANDS = {
    "closed": CLOSED,
    "cooling": COOLING,
    "cooled": COOLING._replace(open_until=NOW),
    "half_open": HALF_OPEN,
    "held_open": CLOSED._replace(forced=Gate.OPEN, forced_by="ada", samples=()),
    "held_closed": COOLING._replace(forced=Gate.CLOSED, forced_by="ada", forced_reason="test"),
    "paused": CLOSED._replace(paused_until=at(8)),
}
EVENTS = {
    "fine": Observed("w", 6, ((1, 0),)),
    "failed": Observed("w", 6, ((0, 1),)),
    "looked": Observed("w", 6),
    "stale": Observed("w", 5, ((0, 9),)),
    "asked": PermitsAsked("v", 5),
    "tried": TrialEnded(6, 2, fine=True),
    "spoilt": TrialEnded(6, 2, fine=False),
    "returned": TrialEnded(6, 2, fine=None),
    "late": TrialEnded(5, 2, fine=True),
    "unknown": TrialEnded(6, 1, fine=False),
    "limited": RateLimited(at(10)),
    "hold_open": ForceAsked(Gate.OPEN, "bob", "drill"),
    "hold_close": ForceAsked(Gate.CLOSED, "bob"),
    "let_go": ForceAsked(None, "bob"),
    "reset": ResetAsked(),
    "probe": ProbeAsked(),
}
PLAIN = """
stands      event      | gate      gen since until again won given out   seen      paused held

closed      fine       | closed    6   -3600 -     0     0   0     -     w0+2,w1+0 -      -
closed      failed     | open      7   0     30    0     0   0     -     -         -      -
closed      looked     | nothing
closed      stale      | nothing
closed      asked      | nothing
closed      tried      | nothing
closed      spoilt     | nothing
closed      returned   | nothing
closed      late       | nothing
closed      unknown    | nothing
closed      limited    | closed    6   -3600 -     0     0   0     -     w0+2      10     -
closed      hold_open  | closed    7   0     -     0     0   0     -     -         -      open/bob
closed      hold_close | closed    7   0     -     0     0   0     -     -         -      closed/bob
closed      let_go     | nothing
closed      reset      | closed    7   -3600 -     0     0   0     -     -         -      -
closed      probe      | nothing

cooling     fine       | nothing
cooling     failed     | nothing
cooling     looked     | nothing
cooling     stale      | nothing
cooling     asked      | nothing
cooling     tried      | nothing
cooling     spoilt     | nothing
cooling     returned   | nothing
cooling     late       | nothing
cooling     unknown    | nothing
cooling     limited    | open      6   -10   20    1     0   0     -     -         10     -
cooling     hold_open  | open      7   0     20    1     0   0     -     -         -      open/bob
cooling     hold_close | open      7   0     20    1     0   0     -     -         -      closed/bob
cooling     let_go     | nothing
cooling     reset      | closed    7   0     -     0     0   0     -     -         -      -
cooling     probe      | open      6   -10   0     1     0   0     -     -         -      -

cooled      fine       | nothing
cooled      failed     | nothing
cooled      looked     | nothing
cooled      stale      | nothing
cooled      asked      | half_open 7   0     -     1     0   2     1v,2v -         -      -
cooled      tried      | nothing
cooled      spoilt     | nothing
cooled      returned   | nothing
cooled      late       | nothing
cooled      unknown    | nothing
cooled      limited    | open      6   -10   0     1     0   0     -     -         10     -
cooled      hold_open  | open      7   0     0     1     0   0     -     -         -      open/bob
cooled      hold_close | open      7   0     0     1     0   0     -     -         -      closed/bob
cooled      let_go     | nothing
cooled      reset      | closed    7   0     -     0     0   0     -     -         -      -
cooled      probe      | nothing

half_open   fine       | nothing
half_open   failed     | nothing
half_open   looked     | nothing
half_open   stale      | nothing
half_open   asked      | nothing
half_open   tried      | closed    7   0     -     0     0   0     -     -         -      -
half_open   spoilt     | open      7   0     120   2     0   0     -     -         -      -
half_open   returned   | half_open 6   -3    -     1     1   2     -     -         -      -
half_open   late       | nothing
half_open   unknown    | nothing
half_open   limited    | half_open 6   -3    -     1     1   2     2w    -         10     -
half_open   hold_open  | half_open 7   0     -     1     0   0     -     -         -      open/bob
half_open   hold_close | half_open 7   0     -     1     0   0     -     -         -      closed/bob
half_open   let_go     | nothing
half_open   reset      | closed    7   0     -     0     0   0     -     -         -      -
half_open   probe      | nothing

held_open   fine       | nothing
held_open   failed     | nothing
held_open   looked     | nothing
held_open   stale      | nothing
held_open   asked      | nothing
held_open   tried      | nothing
held_open   spoilt     | nothing
held_open   returned   | nothing
held_open   late       | nothing
held_open   unknown    | nothing
held_open   limited    | closed    6   -3600 -     0     0   0     -     -         10     open/ada
held_open   hold_open  | closed    7   0     -     0     0   0     -     -         -      open/bob
held_open   hold_close | closed    7   0     -     0     0   0     -     -         -      closed/bob
held_open   let_go     | closed    7   0     -     0     0   0     -     -         -      -
held_open   reset      | closed    7   0     -     0     0   0     -     -         -      -
held_open   probe      | nothing

held_closed fine       | nothing
held_closed failed     | nothing
held_closed looked     | nothing
held_closed stale      | nothing
held_closed asked      | nothing
held_closed tried      | nothing
held_closed spoilt     | nothing
held_closed returned   | nothing
held_closed late       | nothing
held_closed unknown    | nothing
held_closed limited    | open      6   -10   20    1     0   0     -     -         10     closed/ada
held_closed hold_open  | open      7   0     20    1     0   0     -     -         -      open/bob
held_closed hold_close | open      7   0     20    1     0   0     -     -         -      closed/bob
held_closed let_go     | closed    7   -10   -     0     0   0     -     -         -      -
held_closed reset      | closed    7   -10   -     0     0   0     -     -         -      -
held_closed probe      | nothing

paused      fine       | closed    6   -3600 -     0     0   0     -     w0+2,w1+0 8      -
paused      failed     | open      7   0     30    0     0   0     -     -         8      -
paused      looked     | nothing
paused      stale      | nothing
paused      asked      | nothing
paused      tried      | nothing
paused      spoilt     | nothing
paused      returned   | nothing
paused      late       | nothing
paused      unknown    | nothing
paused      limited    | closed    6   -3600 -     0     0   0     -     w0+2      10     -
paused      hold_open  | closed    7   0     -     0     0   0     -     -         8      open/bob
paused      hold_close | closed    7   0     -     0     0   0     -     -         8      closed/bob
paused      let_go     | nothing
paused      reset      | closed    7   -3600 -     0     0   0     -     -         -      -
paused      probe      | closed    6   -3600 -     0     0   0     -     w0+2      -      -
"""


class Line(NamedTuple):
    stands: str
    event: str
    leads_to: str


def lines() -> list[Line]:
    rows = [line for line in PLAIN.splitlines() if "|" in line][1:]
    return [
        Line(*left.split(), " ".join(right.split()))
        for left, right in (row.split("|") for row in rows)
    ]


def seconds(instant: Instant | None) -> str:
    return "-" if instant is None else f"{(instant - NOW) / SECOND_US:g}"


def in_words(upstream: UpstreamState | None) -> str:
    if upstream is None:
        return "nothing"
    return " ".join(
        (
            upstream.gate.value,
            str(upstream.generation),
            seconds(upstream.since),
            seconds(upstream.open_until),
            str(upstream.reopenings),
            str(upstream.successes),
            str(upstream.granted),
            ",".join(f"{permit.number}{permit.worker}" for permit in upstream.permits) or "-",
            ",".join(f"{one.worker}{one.fine}+{one.failed}" for one in upstream.samples) or "-",
            seconds(upstream.paused_until),
            f"{upstream.forced}/{upstream.forced_by}" if upstream.forced else "-",
        )
    )
