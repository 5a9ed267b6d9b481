"""How the breaker before Gemini stands where rules take its place, kept for all to see.

That breaker is a process's own: it is asked within a stage that goes on without Gemini. What the
last call has made of it is kept in the database, so that every process shows it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collabiq.records.circuit_breaker import CircuitBreakerState, CircuitState, circuit_config_of
from collabiq.rows import get_listed, set_listed
from collabiq.tables.times import from_us
from holdfast import Guard, Holdfast

KEPT: Final = "circuit gemini"
_CLOSED: Final = "closed"
_OPEN: Final = "open"
_SERVICE: Final = "gemini"


def keep_circuit(engine: Holdfast, guard: Guard, *, called: bool) -> None:
    """Keep how the breaker stands after a call, or after one that it did not let through."""
    gate = guard.gate.value
    with engine.reading() as tx:
        kept = get_listed(tx, KEPT)
    before = _CLOSED if kept is None else kept.document["state"]
    # A trial that failed opens it again, from now on.
    if gate != before or (gate == _OPEN and called):
        with engine.transaction() as tx:
            set_listed(tx, KEPT, {"state": gate})


def kept_circuit(engine: Holdfast, *, cooldown_s: float) -> CircuitBreakerState:
    """Return how the breaker before Gemini stands, by what the last call has made of it."""
    config = circuit_config_of(_SERVICE)
    with engine.reading() as tx:
        kept = get_listed(tx, KEPT)
    if kept is None or kept.document["state"] == _CLOSED:
        return CircuitBreakerState(_SERVICE, **config)
    is_over = from_us(engine.clock.now()) - kept.read_at >= timedelta(seconds=cooldown_s)
    half_open = is_over or kept.document["state"] != _OPEN
    return CircuitBreakerState(
        _SERVICE,
        CircuitState.HALF_OPEN if half_open else CircuitState.OPEN,
        failure_count=config["failure_threshold"],
        last_failure_time=kept.read_at,
        open_timestamp=kept.read_at,
        failure_threshold=config["failure_threshold"],
        success_threshold=config["success_threshold"],
        timeout=cooldown_s,
    )
