"""How a worker behaves."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.runtime.kernel.ranges import Number, Whole, check_ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker behaves. Times are in seconds."""

    concurrency: int = 10
    """How many attempts run at a time on the loop, and as many again in threads."""
    processes: int = 2
    """How many attempts run at a time in child processes."""
    lease: float = 30.0
    poll: float = 1.0
    sweep: float = 1.0
    """How often ended leases and waits that nobody answered are looked for."""
    deadline_check: float = 1.0
    """How often passed deadlines are looked for."""
    grace: float = 30.0
    """How long running attempts may go on after a stop was requested."""

    def __post_init__(self) -> None:
        check_ranges(
            "worker",
            self,
            {
                "concurrency": Whole(1, 10_000),
                "processes": Whole(1, 256),
                "lease": Number(0.1, 86_400),
                "poll": Number(0.01, 3_600),
                "sweep": Number(0.01, 3_600),
                "deadline_check": Number(0.01, 3_600),
                "grace": Number(0, 86_400),
            },
        )
