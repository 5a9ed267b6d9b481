"""The breakers of the four services, as the records of this system name what the engine keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Protocol

from collabiq.failures.fallback import kept_circuit
from collabiq.records.circuit_breaker import (
    SERVICES,
    CircuitBreakerState,
    CircuitState,
    circuit_config_of,
)
from holdfast import Holdfast

_STATES: Final = {
    "closed": CircuitState.CLOSED,
    "open": CircuitState.OPEN,
    "half_open": CircuitState.HALF_OPEN,
}
_US: Final = 1_000_000


class Guarded(Protocol):
    """A breaker that this process has for itself, as Infisical's is."""

    @property
    def gate(self) -> Any:  # noqa: ANN401 - one of the engine's own words
        """How it stands."""
        ...


class Circuits:
    """How the breakers stand.

    Those of Gmail, Gemini and Notion are kept in the store, for all processes; Infisical's is this
    process's own. Where rules take Gemini's place its breaker is one of the process that calls it,
    which keeps how it stands: `fallback_cooldown_s` says that it is so.
    """

    def __init__(
        self,
        engine: Holdfast,
        *,
        infisical: Guarded | None = None,
        fallback_cooldown_s: float | None = None,
    ) -> None:
        self._engine = engine
        self._infisical = infisical
        self._fallback_cooldown_s = fallback_cooldown_s

    def list(self) -> dict[str, list[dict[str, Any]]]:
        """Return the four, in a stable order."""
        return {"circuits": [self.state_of(service).to_json() for service in SERVICES]}

    def state_of(self, service: str) -> CircuitBreakerState:
        """Return how the breaker of a service stands."""
        if service == "infisical" and self._infisical is not None:
            gate = _STATES[str(self._infisical.gate)]
            return CircuitBreakerState(service, gate, **circuit_config_of(service))
        if service == "gemini" and self._fallback_cooldown_s is not None:
            return kept_circuit(self._engine, cooldown_s=self._fallback_cooldown_s)
        views = {view.name: view for view in self._engine.upstreams.list()}
        view = views.get(service)
        if view is None:
            return CircuitBreakerState(service, **circuit_config_of(service))
        state, config = view.state, circuit_config_of(service)
        gate = _STATES[view.gate.value]
        if gate is CircuitState.OPEN and view.admission.admits.value != "nothing":
            # Its time is over: the next call is a trial.
            gate = CircuitState.HALF_OPEN
        failures = 0
        for sample in reversed(state.samples):
            failures += sample.failed
            if sample.fine:
                break
        closed = gate is CircuitState.CLOSED
        cooldown_s = config["timeout"] if view.breaker is None else view.breaker.cooldown
        return CircuitBreakerState(
            service,
            gate,
            failure_count=failures if closed else config["failure_threshold"],
            success_count=state.successes if gate is CircuitState.HALF_OPEN else 0,
            last_failure_time=_moment(state.failures[-1].at) if state.failures else None,
            open_timestamp=None if closed else _moment(state.opened_at or state.since),
            failure_threshold=config["failure_threshold"],
            success_threshold=config["success_threshold"],
            timeout=cooldown_s,
        )


def _moment(instant_us: int | None) -> datetime | None:
    return None if not instant_us else datetime.fromtimestamp(instant_us / _US, UTC)
