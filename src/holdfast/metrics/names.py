"""The one table of metrics: what each is called, what it says, and where it is known.

Names are in seconds and with `_total` as Prometheus has them. Labels are names that a program
declared, and never ids, addresses or texts. Those without a prefix are the converter's own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """What a metric is."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    UNTYPED = "unknown"
    """A counter whose family would share its name with a gauge, which OpenMetrics forbids."""


class Scope(StrEnum):
    """Whose figures these are."""

    FLEET = "fleet"
    """Read from the store, and the same in whichever process is asked."""
    PROCESS = "process"
    """Of the process that is asked, and of no other."""


class Metric(NamedTuple):
    """One line of the table."""

    name: str
    kind: Kind
    scope: Scope
    labels: tuple[str, ...]
    says: str

    @property
    def family(self) -> str:
        """The name without the suffix that the exposition adds to counters."""
        return self.name.removesuffix("_total") if self.kind is Kind.COUNTER else self.name


def _fleet(name: str, kind: Kind, labels: str, says: str) -> Metric:
    return Metric(name, kind, Scope.FLEET, tuple(labels.split()), says)


def _process(name: str, kind: Kind, labels: str, says: str) -> Metric:
    return Metric(name, kind, Scope.PROCESS, tuple(labels.split()), says)


_G, _C, _H = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM

STORE_UP: Final = _fleet("holdfast_store_up", _G, "", "Whether the store answered: 1 or 0.")
JOBS: Final = _fleet(
    "holdfast_jobs", _G, "state queue", "Jobs that have not ended: queued, processing, waiting."
)
QUEUE_DEPTH: Final = _fleet("queue_depth", _G, "queue", "Jobs that are due and not taken.")
JOBS_ACTIVE: Final = _fleet("jobs_active", _G, "queue", "Jobs that are being processed.")
QUEUE_AGE: Final = _fleet(
    "holdfast_queue_oldest_ready_age_seconds",
    _G,
    "queue",
    "For how long the job that has been due longest has been due.",
)
QUEUE_PAUSED: Final = _fleet(
    "holdfast_queue_paused", _G, "queue", "Whether somebody paused it: 1 or 0."
)
CREATED: Final = _fleet("holdfast_jobs_created_total", _C, "pipeline", "Jobs that were submitted.")
COMPLETED: Final = _fleet(
    "holdfast_jobs_completed_total", _C, "pipeline", "Jobs that reached their end."
)
FAILED: Final = _fleet(
    "jobs_failed_total",
    _C,
    "pipeline error_code",
    "Jobs that failed for good, by public code, or by error class where a pipeline has none.",
)
CANCELLED: Final = _fleet(
    "holdfast_jobs_cancelled_total", _C, "pipeline", "Jobs that were cancelled."
)
MANUAL_RETRIES: Final = _fleet(
    "manual_retry_total", _C, "pipeline", "Failed jobs that were sent back by a person or a replay."
)
ATTEMPTS: Final = _fleet(
    "holdfast_attempts_total",
    _C,
    "pipeline stage outcome error_class",
    "Attempts that ended, by what became of them.",
)
RETRIES: Final = _fleet(
    "holdfast_retries_scheduled_total",
    _C,
    "pipeline stage error_code error_class",
    "Attempts that failed and are made again, by public code and by what it stands for.",
)
LEASES_EXPIRED: Final = _fleet(
    "holdfast_leases_expired_total",
    _C,
    "pipeline stage",
    "Attempts whose worker stopped renewing its lease.",
)
DEADLINES_MISSED: Final = _fleet(
    "holdfast_deadline_missed_total", _C, "pipeline", "Jobs whose deadline passed."
)
LATE_RESULTS: Final = _fleet(
    "holdfast_late_results_total",
    _C,
    "pipeline",
    "Results that came after the deadline, each once; none that came after a cancel.",
)
DEAD_LETTERS: Final = _fleet(
    "holdfast_dead_letters",
    _G,
    "kind",
    "What waits for a person: jobs, deliveries that failed or are unknown, messages given up.",
)
DEAD_LETTERS_TOTAL: Final = _fleet(
    "holdfast_dead_letters_total", Kind.UNTYPED, "kind", "Dead letters that jobs left."
)
ESCALATED: Final = _fleet(
    "holdfast_dead_letters_escalated",
    _G,
    "",
    "Dead letters that wait for a person after a replay failed for the same reason.",
)
BREAKER_STATE: Final = _fleet(
    "holdfast_breaker_state", _G, "upstream", "0 closed, 1 half open, 2 open."
)
BREAKER_OPEN: Final = _fleet(
    "holdfast_breaker_open_seconds_total", _C, "upstream", "For how long the breaker was open."
)
RATE_LIMITED: Final = _fleet(
    "holdfast_rate_limited_until_timestamp_seconds",
    _G,
    "upstream",
    "Until when the upstream asked to be left alone; 0 when it did not.",
)
RATE_CALLS: Final = _fleet(
    "holdfast_upstream_rate_calls_total",
    _C,
    "upstream",
    "Calls of an upstream with a rate that have begun, or may have.",
)
RATE_LIMIT: Final = _fleet(
    "holdfast_upstream_rate_limit_per_second",
    _G,
    "upstream",
    "How many calls a second the rate of an upstream allows the fleet.",
)
RATE_ROOM: Final = _fleet(
    "holdfast_upstream_rate_room", _G, "upstream", "How many calls could begin at once now."
)
RATE_SHORT: Final = _fleet(
    "holdfast_upstream_rate_short",
    _G,
    "upstream",
    "1 while jobs wait because the rate of their upstream has no room.",
)
DELIVERIES: Final = _fleet(
    "holdfast_deliveries", _G, "state provider", "Deliveries in every state but sent."
)
DELIVERY_LAG: Final = _fleet(
    "holdfast_delivery_lag_seconds",
    _G,
    "provider",
    "For how long the oldest delivery that is still to be made has waited.",
)
OUTBOX: Final = _fleet("holdfast_outbox_messages", _G, "status", "Messages pending and given up.")
OUTBOX_LAG: Final = _fleet(
    "holdfast_outbox_lag_seconds", _G, "", "For how long the oldest pending message has waited."
)
WORKERS: Final = _fleet(
    "holdfast_workers", _G, "state", "Workers: running, draining, and those not heard of."
)
STORE_READ: Final = _fleet(
    "holdfast_store_read_seconds", _G, "", "How long it took to read these figures."
)

ATTEMPT_SECONDS: Final = _process(
    "holdfast_attempt_duration_seconds",
    _H,
    "pipeline stage outcome",
    "From the claim of an attempt to its end.",
)
PROCESSING_SECONDS: Final = _process(
    "job_processing_duration_seconds",
    _H,
    "pipeline outcome",
    "From a job's first attempt to its end.",
)
WAIT_SECONDS: Final = _process(
    "holdfast_job_wait_seconds", _H, "pipeline", "From when an attempt was due to its claim."
)
CALL_SECONDS: Final = _process(
    "holdfast_upstream_call_seconds",
    _H,
    "upstream outcome",
    "How long calls of an upstream took: fine, failed, or of no evidence.",
)
RETRY_BUDGET: Final = _process(
    "holdfast_retry_budget_ratio", _G, "upstream", "The share of saved-up retries that is left."
)
SLOTS: Final = _process("holdfast_worker_slots", _G, "lane", "Attempts that may run at a time.")
SLOTS_BUSY: Final = _process(
    "holdfast_worker_slots_busy", _G, "lane", "Attempts that run, or wait for a place here."
)
STUCK: Final = _process(
    "holdfast_stuck_threads", _G, "", "Handlers that run on although they were given up."
)
UNWRITTEN: Final = _process(
    "holdfast_unwritten_outcomes", _G, "", "Attempts that ended and are not written yet."
)
STORE_SECONDS: Final = _process(
    "holdfast_store_operation_seconds", _H, "operation", "How long the store took."
)
STORE_ERRORS: Final = _process(
    "holdfast_store_errors_total", _C, "operation", "Operations of the store that failed."
)
BREAKER_MOVES: Final = _process(
    "holdfast_breaker_moves_total", _C, "upstream to", "Moves of a breaker that this process made."
)
DELIVERIES_ENDED: Final = _process(
    "holdfast_deliveries_ended_total",
    _C,
    "provider state",
    "Deliveries that this process saw end: sent, failed, unknown.",
)
ORDERING_BROKEN: Final = _process(
    "holdfast_ordering_broken_total",
    _C,
    "provider",
    "Deliveries marked as sent of which the provider knows nothing.",
)
BUILD: Final = _process("holdfast_build_info", _G, "version python", "Always 1.")

TABLE: Final = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
BY_NAME: Final = {metric.name: metric for metric in TABLE}
