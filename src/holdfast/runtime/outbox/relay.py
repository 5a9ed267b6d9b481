"""Publishes what the outbox holds: leases messages, hands them over, marks what became of them.

Nothing is marked as published before the broker has confirmed it, so a relay that dies in between
leaves a message that is published again, under the same id.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.outbox import (
    RELAY_RETRY,
    NotTaken,
    OutboxMessage,
    OutboxStatus,
    Publication,
    Trouble,
    Unsendable,
    Untried,
    decide_publish,
)
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidValue, UnavailableError, UsageError
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.ranges import Number, Whole, check_ranges
from holdfast.runtime.outbox.transport import Transport
from holdfast.store.contract import Store
from holdfast.store.tables.outbox import EVERY_TYPE, TypeFilter

LOGGER: Final = logging.getLogger("holdfast.relay")
LONGEST_PAUSE_US: Final = 5 * SECOND_US
FIRST_PAUSE_US: Final = SECOND_US // 4
_SHOWN: Final = 3
_HOLDS_ALL_UP: Final = frozenset({Trouble.UNAVAILABLE, Trouble.BLOCKED, Trouble.UNCONFIRMED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayOptions:
    """How a relay behaves. Times are in seconds."""

    batch_size: int = 50
    """How many messages are leased and handed over at a time."""
    poll_interval: float = 5.0
    """How often to look for messages unasked; new ones are announced."""
    stale_threshold: float = 60.0
    """A message that waits longer is worth a warning."""
    publish_timeout: float = 10.0
    """How long a batch may take until its messages are confirmed."""
    lease: float = 30.0
    """After which another relay takes over what this one has leased."""
    gather: float = 0.0
    """How long new messages are left to gather after a batch that was not full."""

    def __post_init__(self) -> None:
        check_ranges(
            "relay",
            self,
            {
                "batch_size": Whole(1, 10_000),
                "poll_interval": Number(0.01, 3_600),
                "stale_threshold": Number(0.01, 30 * 86_400),
                "publish_timeout": Number(0.1, 3_600),
                "lease": Number(0.1, 86_400),
                "gather": Number(0, 5),
            },
        )
        if self.lease <= self.publish_timeout:
            raise InvalidValue(
                "relay",
                field="lease",
                value=self.lease,
                limit=f"over publish_timeout, which is {self.publish_timeout:g}",
            )


class _Batch(NamedTuple):
    """Messages whose outcome is decided, under the lease by which it may be written."""

    messages: list[OutboxMessage]
    outcomes: dict[str, Publication]
    lease_until: Instant


class RelayService:
    """Takes messages from the outbox to a transport, turn by turn; any number may run."""

    name = "relay"

    def __init__(
        self,
        store: Store,
        transport: Transport,
        *,
        holder: str,
        clock: Clock,
        chance: Chance,
        options: RelayOptions,
        policy: Retry = RELAY_RETRY,
        types: TypeFilter = EVERY_TYPE,
        on_fatal: Callable[[str], None],
    ) -> None:
        self.wake = threading.Event()
        self._rows = store.outbox
        self._transport = transport
        self._holder = holder
        self._clock = clock
        self._chance = chance
        self._options = options
        self._policy = policy
        self._types = types
        self._on_fatal = on_fatal
        self._busy = False
        self._unmarked: _Batch | None = None
        self._pauses = 0
        self._paused_until = Instant(0)
        self._gathers_until = Instant(0)
        self._looked_at = Instant(0)
        self._warned_at = Instant(0)

    def tick(self, now: Instant) -> Instant:
        """Publish one batch, and return the instant of the next turn."""
        if self._unmarked is not None:
            # The store was away when this was to be written; it is not published again for that.
            self._mark(self._unmarked)
        self._look_out(now)
        if now < self._paused_until:
            return self._paused_until
        if now < self._gathers_until:
            return self._gathers_until
        if not self._busy:
            # A look costs nobody anything; on SQLite a claim takes the turn to write.
            due = self._rows.next_due(types=self._types)
            if due is None or due > now:
                # Messages of other types wake it as well.
                self._leave_to_gather(now)
                return self._sleep_until(now, due)
        trouble = self._ready()
        if trouble is not None:
            return self._pause(now, trouble)
        messages = self._claim(now)
        self._busy = len(messages) == self._options.batch_size
        if not messages:
            # What is due waits for one before it, or for a relay that has it.
            return self._sleep_until(now, self._rows.next_due(after=now, types=self._types))
        outcomes = self._publish(messages)
        return self._settle(messages, outcomes)

    def _sleep_until(self, now: Instant, due: Instant | None) -> Instant:
        polled = later(now, int(self._options.poll_interval * SECOND_US))
        return polled if due is None else min(polled, due)

    def _leave_to_gather(self, now: Instant) -> None:
        self._gathers_until = later(now, int(self._options.gather * SECOND_US))

    def _ready(self) -> NotTaken | None:
        try:
            return self._transport.ready()
        except UsageError as error:
            # A person has to repair it, and trying again and again would only fill the logs.
            self._on_fatal(str(error))
            return NotTaken(Trouble.UNAVAILABLE, str(error))

    def release(self) -> None:
        """Let go of what is leased, so that nobody waits for the end of the lease."""
        try:
            self._rows.release(self._holder, now=self._clock.now())
        except UnavailableError as error:
            LOGGER.warning("what this relay had leased is free when its lease ends: %s", error)

    def _claim(self, now: Instant) -> list[OutboxMessage]:
        options = self._options
        try:
            return self._rows.claim(
                holder=self._holder,
                limit=options.batch_size,
                lease_us=int(options.lease * SECOND_US),
                now=now,
                types=self._types,
            )
        except UnavailableError:
            # The messages of a claim whose answer was lost would wait for the end of the lease.
            self.release()
            raise

    def _publish(self, messages: Sequence[OutboxMessage]) -> dict[str, Publication]:
        runs: dict[str, list[OutboxMessage]] = defaultdict(list)
        for message in messages:
            runs[message.aggregate_id].append(message)
        failpoint.reach("publish.before")
        published = self._transport.publish(
            list(runs.values()), timeout_s=self._options.publish_timeout
        )
        failpoint.reach("publish.after")
        return {message.id: published.get(message.id, Untried()) for message in messages}

    def _settle(
        self, messages: Sequence[OutboxMessage], outcomes: dict[str, Publication]
    ) -> Instant:
        """Decide what follows for each message, write it, and tell of it."""
        now = self._clock.now()
        decided = [
            decide_publish(message, outcomes[message.id], self._policy, now, self._chance.roll())
            for message in messages
        ]
        self._unmarked = _Batch(decided, outcomes, messages[0].lease_until or now)
        self._mark(self._unmarked)
        held_up = [
            outcome
            for outcome in outcomes.values()
            if isinstance(outcome, NotTaken) and outcome.trouble in _HOLDS_ALL_UP
        ]
        if held_up and all(message.status is OutboxStatus.PENDING for message in decided):
            return self._pause(now, held_up[0], told=True)
        self._pauses = 0
        if len(messages) < self._options.batch_size:
            self._leave_to_gather(now)
        return max(now, self._gathers_until)

    def _mark(self, batch: _Batch) -> None:
        failpoint.reach("outbox.mark.before")
        marked = self._rows.mark(batch.messages, holder=self._holder, lease_until=batch.lease_until)
        failpoint.reach("outbox.mark.after")
        self._unmarked = None
        self._announce(batch.messages, batch.outcomes)
        lost = len(batch.messages) - len(marked)
        if lost:
            LOGGER.warning(
                "%d messages were leased by another relay before they could be marked; "
                "they are published twice, under the same id",
                lost,
                extra={"event": "lease_lost", "relay": self._holder, "messages": lost},
            )

    def _pause(self, now: Instant, trouble: NotTaken, *, told: bool = False) -> Instant:
        """Leave the broker alone for a while, longer each time, and the messages where they are."""
        longest_us = min(FIRST_PAUSE_US << min(self._pauses, 8), LONGEST_PAUSE_US)
        if self._pauses == 0 and not told:
            LOGGER.warning(
                "nothing can be published: %s",
                trouble.error,
                extra={
                    "event": "relay_held_up",
                    "relay": self._holder,
                    "trouble": trouble.trouble.value,
                    "error": trouble.error,
                },
            )
        self._pauses += 1
        self._paused_until = later(now, int(longest_us * (0.5 + self._chance.roll() / 2)))
        return self._paused_until

    def _announce(self, decided: Sequence[OutboxMessage], outcomes: dict[str, Publication]) -> None:
        published = sum(message.status is OutboxStatus.PUBLISHED for message in decided)
        if published:
            LOGGER.debug(
                "published %d messages",
                published,
                extra={"event": "relayed", "relay": self._holder, "messages": published},
            )
        troubles = Counter(
            outcome.trouble for outcome in outcomes.values() if isinstance(outcome, NotTaken)
        )
        for trouble, count in troubles.items():
            sample = [
                message
                for message in decided
                if isinstance(outcome := outcomes[message.id], NotTaken)
                and outcome.trouble is trouble
            ]
            LOGGER.warning(
                "%d messages were not taken: %s",
                count,
                sample[0].error_message,
                extra={
                    "event": "not_relayed",
                    "relay": self._holder,
                    "trouble": trouble.value,
                    "messages": count,
                    "sample": [message.id for message in sample[:_SHOWN]],
                },
            )
        for message in decided:
            if message.status is OutboxStatus.FAILED:
                self._log_given_up(message, outcomes[message.id])

    def _log_given_up(self, message: OutboxMessage, outcome: Publication) -> None:
        LOGGER.error(
            "message %s of type %s is given up: %s; once that is repaired: "
            "holdfast outbox retry %s",
            message.id,
            message.message_type,
            message.error_message,
            message.id,
            extra={
                "event": "message_given_up",
                "relay": self._holder,
                "message_id": message.id,
                "message_type": message.message_type,
                "aggregate_id": message.aggregate_id,
                "unsendable": isinstance(outcome, Unsendable),
            },
        )

    def _look_out(self, now: Instant) -> None:
        """Warn, now and then, while a message has been waiting for too long."""
        threshold_us = int(self._options.stale_threshold * SECOND_US)
        if now - self._looked_at < threshold_us // 2:
            return
        self._looked_at = now
        standing = self._rows.standing(types=self._types)
        oldest = standing.oldest_pending_at
        if oldest is None or now - oldest <= threshold_us:
            self._warned_at = Instant(0)
            return
        if now - self._warned_at < threshold_us:
            return
        self._warned_at = now
        waiting_s = round((now - oldest) / SECOND_US, 3)
        LOGGER.warning(
            "%d messages wait to be published, the oldest for %.0f s",
            standing.pending,
            waiting_s,
            extra={
                "event": "outbox_stale",
                "relay": self._holder,
                "pending": standing.pending,
                "failed": standing.failed,
                "oldest_s": waiting_s,
            },
        )
