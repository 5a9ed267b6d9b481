"""How couriers behave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from holdfast.core.delivery.delivery import Terms
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidPolicy
from holdfast.runtime.kernel.ranges import Number, Whole, check_ranges

MAX_PLACES: Final = 1_000
_CALLS_PER_LEASE: Final = 2


def _lookups() -> Retry:
    return Retry(attempts=10, base=5.0, factor=2.0, cap=300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CourierOptions:
    """How deliveries are carried out. Times are in seconds."""

    timeout: float = 20.0
    """How long one call to a provider may take."""
    lease: float = 60.0
    """How long a courier has a delivery before others take it for lost."""
    retry: Retry = field(default_factory=Retry)
    """How often a message is sent, and how long after a failure."""
    lookup: Retry = field(default_factory=_lookups)
    """How often a provider that does not answer is asked what became of one send."""
    concurrency: int = 8
    """How many calls one worker has under way with each provider."""
    look_first: bool = False
    """Whether providers are asked before a first send as well: after a restored backup."""
    reconcile_every: float = 60.0
    """How often marks are compared with what the providers know."""
    reconcile_batch: int = 20
    """How many of them at a time, for each provider and worker; 0 turns it off."""

    def __post_init__(self) -> None:
        check_ranges(
            "CourierOptions",
            self,
            {
                "timeout": Number(0.05, 3_600),
                "lease": Number(0.1, 86_400),
                "concurrency": Whole(1, MAX_PLACES),
                "reconcile_every": Number(0.1, 86_400),
                "reconcile_batch": Whole(0, MAX_PLACES),
            },
            error=InvalidPolicy,
        )
        if self.lease < _CALLS_PER_LEASE * self.timeout:
            # A call that begins at the end of its time has to be over within the lease.
            raise _invalid("lease", self.lease, f"at least {_CALLS_PER_LEASE} times the timeout")

    @property
    def lease_us(self) -> int:
        """The lease in microseconds."""
        return int(self.lease * SECOND_US)

    def terms(self, promise: Promise) -> Terms:
        """Return the terms for a provider with this promise."""
        return Terms(
            promise=promise,
            retry=self.retry,
            lookup=self.lookup,
            timeout_us=int(self.timeout * SECOND_US),
            look_first=self.look_first,
        )


def _invalid(name: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy("CourierOptions", field=name, value=value, limit=limit)
