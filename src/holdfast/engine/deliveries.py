"""Deliveries, for programs and for operators: make, find, resolve, reconcile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from holdfast.core.delivery.delivery import Delivery, DeliveryKey, DeliveryState
from holdfast.core.delivery.event import Finding, OperatorSays, Word
from holdfast.core.delivery.lifecycle import decide_delivery
from holdfast.core.delivery.log import DeliveryAttempt
from holdfast.core.delivery.promise import Promise
from holdfast.engine.arguments import LONGEST_PAGE, PAGE, asked, checked_limit, instant_since
from holdfast.engine.connections.resolve import resolved
from holdfast.errors import DeliveryMoved, InvalidValue, UnknownDelivery, UnknownProvider
from holdfast.runtime import tracing
from holdfast.runtime.attempts.notify import Recipient, asked_of
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.deliveries.log import tell
from holdfast.runtime.deliveries.new_deliveries import NewDeliveries
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import BoundProvider
from holdfast.runtime.deliveries.reconciler import Checked, Checks, can_check
from holdfast.runtime.events.signals import DeliveryChanged
from holdfast.runtime.kernel.clock import Chance, Clock, sleep_s
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.deliveries import SUBJECT, DeliveryFilter, DeliveryStanding
from holdfast.views.delivery import DeliveryReport, DeliveryView, Reconciliation

TRIES: Final = 8
LOOKUPS_A_SECOND: Final = 5.0
MAX_MISSING: Final = 10
_ACTIONS_SHOWN: Final = 100
_COMPARED: Final = (
    DeliveryState.INTENT,
    DeliveryState.SENT,
    DeliveryState.FAILED,
    DeliveryState.UNKNOWN,
)


class Deliveries:
    """The deliveries of a store."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        dispatch: Dispatch,
        clock: Clock,
        chance: Chance,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._providers = dispatch.providers
        self._signals = dispatch.signals
        self._clock = clock
        self._chance = chance
        self._changed = changed
        self._made = NewDeliveries(dispatch.providers, chance)

    def make(
        self,
        subject: str,
        *,
        recipients: Sequence[str | Recipient],
        message: Mapping[str, Any],
        version: int = 1,
        provider: str | None = None,
        connection: object = None,
    ) -> list[DeliveryView]:
        """Have recipients notified, each once per subject and version, and return how that stands.

        A delivery that a recipient has for that subject and version stays as it is. `message` is
        what the provider needs, but for the recipient. With `connection` the deliveries are part
        of the caller's own transaction on the same database.
        """
        asked = asked_of(
            subject=subject,
            version=version,
            provider=provider,
            recipients=recipients,
            message=message,
        )
        now = self._clock.now()
        rows = self._made.of(asked, now=now, trace=tracing.current())
        stored = self._store().deliveries.ensure(rows, connection=resolved(connection))
        if connection is None:
            self._changed()
        return [DeliveryView(delivery, now) for delivery in stored]

    def find(
        self,
        wanted: DeliveryFilter | None = None,
        *,
        before: str | None = None,
        limit: int = PAGE,
        owner: str | None = None,
    ) -> list[DeliveryView]:
        """Return matching deliveries, newest first; the last id is `before` of the next page.

        A delivery is its job's owner's. With `owner`, here and in what follows, one of another
        else's, or without a job, is as unknown as one that is not there.
        """
        checked_limit("deliveries", limit)
        chosen = wanted or DeliveryFilter()
        if owner is not None:
            if chosen.owner not in (None, owner):
                return []
            chosen = chosen._replace(owner=owner)
        page = self._store().deliveries.find(chosen, before=before, limit=limit)
        now = self._clock.now()
        return [DeliveryView(delivery, now) for delivery in page]

    def of_job(self, job_id: str, *, owner: str | None = None) -> list[DeliveryView]:
        """Return the deliveries that belong to a job, the oldest first."""
        now = self._clock.now()
        rows = self._store().deliveries.of_job(job_id, owner=owner)
        return [DeliveryView(each, now) for each in rows]

    def of_keys(self, keys: Collection[DeliveryKey]) -> dict[DeliveryKey, DeliveryView]:
        """Return, in one look for many, the deliveries that were made for these, of all owners."""
        now = self._clock.now()
        rows = self._store().deliveries.of_keys(keys) if keys else []
        return {each.key: DeliveryView(each, now) for each in rows}

    def counts(self) -> dict[str, dict[DeliveryState, int]]:
        """Return, by provider, how many deliveries are in each state but `sent`."""
        return self._store().deliveries.counts()

    def unattended(self) -> list[DeliveryStanding]:
        """Return, by provider and state, what needs a person and has no dead letter to say so."""
        return self._store().deliveries.unattended()

    def get(self, delivery_id: str, *, owner: str | None = None) -> DeliveryView:
        """Read a delivery, or raise `UnknownDelivery`."""
        return DeliveryView(self._read(delivery_id, owner), self._clock.now())

    def show(self, delivery_id: str, *, owner: str | None = None) -> DeliveryReport:
        """Return a delivery with its log and what was done about it."""
        view = self.get(delivery_id, owner=owner)
        log = self._store().deliveries.attempts([view.id])[view.id]
        actions = self._store().audit.latest(
            subject_kind=SUBJECT, subject=view.id, limit=_ACTIONS_SHOWN
        )
        return DeliveryReport(view, log, actions)

    def log_of(self, delivery_ids: Collection[str]) -> dict[str, list[DeliveryAttempt]]:
        """Return, by delivery, what came of its sends and lookups, the oldest first."""
        return self._store().deliveries.attempts(delivery_ids)

    def resolve(
        self,
        delivery_id: str,
        word: Word | str,
        *,
        by: str,
        reason: str | None = None,
        owner: str | None = None,
    ) -> DeliveryView:
        """Say what became of a delivery, or what is to become of it.

        `sent`: the recipient has been notified. `resend`: send it, though it may be notified twice.
        `fail`: the recipient is not to be notified.
        """
        who, why = asked("resolve", by, reason)
        event = OperatorSays(_checked_word(word), who, why)
        for _ in range(TRIES):
            delivery = self._read(delivery_id, owner)
            now = self._clock.now()
            bound = self._providers.get(delivery.provider)
            # What a person says counts whatever the provider promises.
            terms = CourierOptions().terms(Promise()) if bound is None else bound.terms
            decided = decide_delivery(delivery, event, terms, now, self._chance.roll())
            if not isinstance(decided, Delivery):
                raise DeliveryMoved(
                    delivery.id, action=event.word, state=delivery.state, why=decided.why
                )
            detail = {"before": delivery.state.value, "after": decided.state.value}
            entry = AuditEntry(now, who, event.word.value, SUBJECT, delivery.id, why, detail=detail)
            written = self._store().deliveries.apply([decided], audit=[entry])
            if written:
                tell(DeliveryChanged(delivery, event, decided), self._signals.deliveries)
                self._changed()
                return DeliveryView(written[delivery.id], now)
        raise DeliveryMoved(
            delivery_id, action=event.word, state="moving", why="it changes all the time; try again"
        )

    def reconcile(
        self,
        *,
        since: datetime | timedelta | float | None = None,
        limit: int = LONGEST_PAGE,
        provider: str | None = None,
        rate: float = LOOKUPS_A_SECOND,
        stop_after: int = MAX_MISSING,
        on_progress: Callable[[Reconciliation], None] = lambda _: None,
    ) -> Reconciliation:
        """Ask the providers about deliveries made since then, `rate` a second, the newest first.

        What a provider knows and nobody had marked is marked, and not sent again: after a backup
        was restored, run this before the workers. What is marked and unknown to the provider is
        sent again, until that happened `stop_after` times in a row: then the provider is doubted.
        """
        if not 0 < rate <= LONGEST_PAGE:
            raise InvalidValue(
                "reconcile", field="rate", value=rate, limit=f"over 0 and up to {LONGEST_PAGE}"
            )
        if provider is not None:
            self._bound(provider)
        checks = Checks(
            self._store(),
            clock=self._clock,
            chance=self._chance,
            signals=self._signals,
            most_missing=stop_after,
        )
        told = Reconciliation()
        wanted = DeliveryFilter(
            states=_COMPARED,
            provider=provider,
            created_since=None if since is None else instant_since(since, now=self._clock.now()),
        )
        for delivery in self._each(wanted, limit):
            bound = self._providers.get(delivery.provider)
            if bound is None or not can_check(delivery, bound):
                told.skipped += 1
                continue
            if told.checked:
                sleep_s(1.0 / rate)
            _count(told, checks.check(delivery, bound))
            on_progress(told)
            if checks.doubts(bound.name):
                told.stopped = True
                break
        self._changed()
        return told

    def _each(self, wanted: DeliveryFilter, limit: int) -> Iterator[Delivery]:
        before: str | None = None
        while limit > 0:
            page = self._store().deliveries.find(wanted, before=before, limit=min(limit, PAGE))
            yield from page
            if len(page) < PAGE:
                return
            before, limit = page[-1].id, limit - len(page)

    def _read(self, delivery_id: str, owner: str | None) -> Delivery:
        found = self._store().deliveries.get(str(delivery_id), owner=owner)
        if found is None:
            raise UnknownDelivery(delivery_id)
        return found

    def _bound(self, provider: str) -> BoundProvider:
        bound = self._providers.get(provider)
        if bound is None:
            raise UnknownProvider(provider, known=[each.name for each in self._providers])
        return bound


def _count(told: Reconciliation, checked: Checked) -> None:
    told.checked += 1
    match checked.finding:
        case Finding.FOUND:
            if checked.before.state is DeliveryState.SENT:
                told.confirmed += 1
            else:
                told.found += checked.after is not None
        case Finding.MISSING:
            told.missing += 1
            if checked.taken_back:
                told.sent_again.append(checked.before.id)
        case Finding.UNAVAILABLE:
            told.unavailable += 1


def _checked_word(word: object) -> Word:
    try:
        return Word(str(word))
    except ValueError:
        raise InvalidValue(
            "resolve", field="word", value=word, limit=f"one of {', '.join(Word)}"
        ) from None
