"""A transport without a broker: messages are handed to handles in this process.

What a handle raises means what it means to a consumer of RabbitMQ, so that a system behaves the
same with a broker and without one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from holdfast.bridges.loopback_faults import EXPLANATIONS, LoopbackFaults, LoopbackMode
from holdfast.bridges.messages.correlation import correlation_of
from holdfast.bridges.messages.dead_messages import headers_of_letter
from holdfast.bridges.messages.envelope import attribute, headers_of, time_of, trace_of
from holdfast.bridges.messages.handling import (
    TIMEOUT_S,
    checked_timeout,
    invalid,
    is_outage,
    judged,
    log_failure,
    raised_by,
)
from holdfast.bridges.messages.inbound import buried
from holdfast.core.values.document import Limits, parse
from holdfast.core.values.failure import Failure
from holdfast.core.values.json_flaws import MAX_BYTES
from holdfast.core.values.outbox import (
    Confirmed,
    NotTaken,
    OutboxMessage,
    Postponed,
    Publication,
    Trouble,
)
from holdfast.errors import HandlerStuck, InvalidDocument, UnavailableError
from holdfast.runtime.kernel.clock import Clock, monotonic_s
from holdfast.runtime.outbox.received import Handle, Received
from holdfast.secrecy import redacted
from holdfast.store.contract import Store

__all__ = ["EXPLANATIONS", "Loopback", "LoopbackFaults", "LoopbackMode"]

SOURCE: Final = "/holdfast"
QUEUE: Final = "loopback"
"""What stands in dead letters for the queue."""
DELIVERY_LIMIT: Final = 5
"""How often a message is handed over again before it is a dead letter."""
MAX_AT_ONCE: Final = 8
_LIMITS: Final = Limits(max_bytes=MAX_BYTES)
_DOWN: Final = NotTaken(Trouble.UNAVAILABLE, "the loopback is switched off")
_LOST: Final = NotTaken(Trouble.UNCONFIRMED, "the loopback lost the confirmation")


class Application(Protocol):
    """What a loopback needs of a `Holdfast`."""

    clock: Clock

    @property
    def store(self) -> Store:
        """The store that dead letters are kept in."""
        ...


class Loopback:
    """A transport that hands each message to the handle of its type, and confirms when it returned.

    What a handle raises is judged as in a consumer: what may pass is tried again until the delivery
    limit, what cannot succeed is a dead letter of kind `message` at once, and confirmed. While the
    store is away messages wait, at no cost. A type without a handle is unroutable. A handle that
    has not returned after `timeout_s` ends the relay with `HandlerStuck`.
    """

    name = "loopback"

    def __init__(
        self,
        app: Application,
        handles: Mapping[str, Handle],
        *,
        faults: LoopbackFaults | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._app = app
        self._handles = dict(handles)
        self.faults = faults or LoopbackFaults()
        self._timeout_s = checked_timeout(timeout_s)
        self._lock = threading.Lock()
        self._failures: dict[str, int] = {}
        self._under_way: dict[str, float] = {}
        self._ended_late: dict[str, Publication] = {}

    def ready(self) -> NotTaken | None:
        """Return why nothing can be handed over now, or raise that a handle does not end."""
        now_s = monotonic_s()
        with self._lock:
            for message_id, began_s in self._under_way.items():
                if now_s - began_s > self._timeout_s:
                    raise HandlerStuck(message_id, timeout_s=self._timeout_s)
        return _DOWN if self.faults.mode == "down" else None

    def publish(
        self, runs: Sequence[Sequence[OutboxMessage]], *, timeout_s: float
    ) -> Mapping[str, Publication]:
        """Hand messages over and return what became of each."""
        batch = _Batch(runs, ends_at_s=monotonic_s() + timeout_s)
        threads = [
            threading.Thread(
                target=self._work, args=(batch,), name="holdfast-loopback", daemon=True
            )
            for _ in range(min(MAX_AT_ONCE, len(runs)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(batch.ends_at_s - monotonic_s(), 0.0))
        with self._lock:
            batch.closed = True
            slow = NotTaken(Trouble.UNCONFIRMED, f"not handled within {timeout_s:g} s")
            return {**dict.fromkeys(batch.begun, slow), **batch.outcomes}

    def close(self) -> None:
        """Hold nothing: messages whose handles still run count as unconfirmed."""

    def _work(self, batch: _Batch) -> None:
        """Hand over one run after the other, each up to the first message that is not taken."""
        while (run := batch.next_run()) is not None:
            for message in run:
                if monotonic_s() >= batch.ends_at_s:
                    return
                if not isinstance(self._publish_one(message, batch), Confirmed):
                    break

    def _publish_one(self, message: OutboxMessage, batch: _Batch) -> Publication | None:
        known = self._begin(message.id, batch)
        outcome = known
        if outcome is None:
            try:
                outcome = self._delivered(message)
            except UnavailableError as error:
                outcome = NotTaken(Trouble.UNAVAILABLE, redacted(str(error)))
        with self._lock:
            if known is None:
                del self._under_way[message.id]
            if not batch.closed:
                batch.outcomes[message.id] = outcome
            elif known is None:
                self._ended_late[message.id] = outcome
        return outcome

    def _begin(self, message_id: str, batch: _Batch) -> Publication | None:
        """Note that a message is being handled, or return what is known of it by now."""
        with self._lock:
            if batch.closed:
                return NotTaken(Trouble.UNCONFIRMED, "its batch has ended")
            if message_id in self._under_way:
                return NotTaken(Trouble.UNCONFIRMED, "it is still being handled")
            if message_id in self._ended_late:
                return self._ended_late.pop(message_id)
            self._under_way[message_id] = monotonic_s()
            batch.begun.append(message_id)
            return None

    def _delivered(self, message: OutboxMessage) -> Publication:
        handle = self._handles.get(message.message_type)
        mode, held_until = self.faults.mode, self.faults.due_at(message)
        if mode == "down":
            return _DOWN
        if held_until is not None and held_until > self._app.clock.now():
            return Postponed(held_until)
        if handle is None:
            kind = message.message_type
            return NotTaken(Trouble.UNROUTABLE, f"no handle takes messages of type {kind!r}")
        outcome = self._handled(message, handle)
        if mode == "delivers_twice" and isinstance(outcome, Confirmed):
            outcome = self._handled(message, handle)
        if mode == "loses_confirms" and isinstance(outcome, Confirmed):
            return _LOST
        return outcome

    def _handled(self, message: OutboxMessage, handle: Handle) -> Publication:
        deliveries = self._failed_before(message) + 1
        received = received_of(message, deliveries=deliveries)
        raised = None
        if received.unreadable is None:
            raised = raised_by(handle, received)
            if raised is None:
                self._forget(message.id)
                return Confirmed()
            if is_outage(raised):
                return NotTaken(Trouble.UNAVAILABLE, redacted(str(raised)))
        now = self._app.clock.now()
        failure = invalid("it is no JSON") if raised is None else judged(raised, now=now)
        again = failure.retryable and deliveries <= DELIVERY_LIMIT
        if again:
            with self._lock:
                self._failures[message.id] = deliveries
        else:
            self._bury(received, failure)
            self._forget(message.id)
        log_failure(message.id, failure, queue=QUEUE, deliveries=deliveries, again=again)
        return NotTaken(Trouble.REFUSED, failure.message) if again else Confirmed()

    def _failed_before(self, message: OutboxMessage) -> int:
        """Return how often handling a message has failed, as far as this process or its row says.

        The row counts outages as well; the last of its tries says whether it can be trusted.
        """
        refused = (message.error_message or "").startswith(f"{Trouble.REFUSED}:")
        with self._lock:
            known = self._failures.get(message.id, 0)
        return max(known, min(message.retry_count, DELIVERY_LIMIT) if refused else 0)

    def _forget(self, message_id: str) -> None:
        with self._lock:
            self._failures.pop(message_id, None)

    def _bury(self, received: Received, failure: Failure) -> None:
        app = self._app
        headers = headers_of_letter(
            received.headers,
            failure,
            attempts=received.deliveries,
            queue=QUEUE,
            now=app.clock.now(),
        )
        buried(app.store, clock=app.clock, queue=QUEUE)(received._replace(headers=headers))


class _Batch:
    """Runs to be handed over, and what became of their messages by now."""

    def __init__(self, runs: Sequence[Sequence[OutboxMessage]], *, ends_at_s: float) -> None:
        self.ends_at_s = ends_at_s
        self.begun: list[str] = []
        self.outcomes: dict[str, Publication] = {}
        self.closed = False
        self._runs: queue.SimpleQueue[Sequence[OutboxMessage]] = queue.SimpleQueue()
        for run in runs:
            self._runs.put(run)

    def next_run(self) -> Sequence[OutboxMessage] | None:
        """Return a run that nobody has taken yet, or None when there is none."""
        try:
            return self._runs.get_nowait()
        except queue.Empty:
            return None


def received_of(message: OutboxMessage, *, deliveries: int) -> Received:
    """Return a message of the outbox as a consumer would see it behind a broker."""
    headers = headers_of(message, source=SOURCE)
    correlation = correlation_of(message.payload)
    received = Received(
        id=message.id,
        type=message.message_type,
        subject=message.aggregate_id,
        payload=None,
        source=SOURCE,
        time=time_of(headers),
        sequence=attribute(headers, "sequence"),
        trace=trace_of(headers),
        correlation_id=None if correlation is None else correlation.id,
        deliveries=deliveries,
        headers=headers,
        arrived_s=monotonic_s(),
    )
    try:
        payload = parse(message.payload.encode(), what="message", limits=_LIMITS)
    except InvalidDocument:
        return received._replace(unreadable=message.payload)
    return received._replace(payload=payload)
