"""The ratios holdfast means to reach against its peers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on holdfast's figure divided by the peer's."""

    bound: float
    less_is_better: bool = False

    def is_met(self, ratio: float) -> bool:
        return ratio <= self.bound if self.less_is_better else ratio >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.less_is_better else '≥'} {self.bound:g}"


TARGETS: dict[tuple[str, str], Target] = {
    ("drain-one-stage", "PgQueuer"): Target(2.5),
    ("drain-one-stage", "PgQueuer (published)"): Target(2.5),
    ("drain-one-stage", "Graphile Worker"): Target(0.8),
    ("drain-three-stage", "DBOS"): Target(20),
    ("drain-sqlite", "Huey"): Target(3),
    ("submit-bulk", "PgQueuer"): Target(1),
    ("submit-single", "PgQueuer"): Target(2),
    ("latency", "PgQueuer"): Target(1, less_is_better=True),
}
