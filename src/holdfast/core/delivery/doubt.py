"""What can still be found out about a send whose outcome is open, and when to ask.

A provider that can look up is asked within seconds, and again after ever longer waits: what it
finds is believed at once, and that it finds nothing only once its declared lag is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.core.values.failure import EVIDENCE_MISSING
from holdfast.core.values.instant import SECOND_US, Instant, later

if TYPE_CHECKING:
    from holdfast.core.delivery.delivery import Delivery, Terms

FIRST_LOOK_US: Final = 2 * SECOND_US
"""How long after a send began it is first looked up; the waits then double."""


def is_open(delivery: Delivery) -> bool:
    """Return whether the provider may have accepted a message that is not marked as sent."""
    known = (delivery.began_at, delivery.notification_id, delivery.notified_at)
    return known != (None, None, None)


def is_under_way(delivery: Delivery) -> bool:
    """Return whether a message is being handed over, not looked up; of one that is `sending`."""
    return delivery.doubted_at is None


def may_look_up(
    delivery: Delivery, terms: Terms, now: Instant, *, since: Instant | None = None
) -> bool:
    """Return whether a lookup would find what may have been accepted, at `since` if given."""
    promise = terms.promise
    if promise.lookup_lag is None:
        return False
    if promise.lookup_needs_id and delivery.notification_id is None:
        return False
    began_at = delivery.began_at if since is None else since
    kept = promise.lookup_for
    return kept is None or began_at is None or now < later(began_at, _us(kept))


def may_resend(delivery: Delivery, terms: Terms, now: Instant) -> bool:
    """Return whether the same token, sent now, arrives while the provider would drop it."""
    window, since = terms.promise.dedupes_for, delivery.began_at
    if window is None or since is None or delivery.notified_at is not None:
        return False
    arrives_at = later(now, terms.timeout_us)
    return arrives_at < later(since, _us(window)) and delivery.attempts < terms.retry.attempts


def renewed(delivery: Delivery) -> Delivery:
    """Return a delivery with a new budget of sends and lookups."""
    return delivery._replace(attempts=0, lookups=0)


def can_be_settled(delivery: Delivery, terms: Terms, now: Instant) -> bool:
    """Return whether a new budget would settle what is unknown: by a lookup, or by the same token.

    Not where the provider's own word was found to be wrong before: then a person decides.
    """
    if delivery.error_class == EVIDENCE_MISSING.error_class:
        return False
    fresh = renewed(delivery)
    return may_look_up(fresh, terms, now) or may_resend(fresh, terms, now)


def first_look_at(delivery: Delivery, terms: Terms, now: Instant) -> Instant:
    """Return when to look an open send up first."""
    if delivery.began_at is None:
        return now
    return max(now, later(delivery.began_at, min(FIRST_LOOK_US, lag_us(terms))))


def next_look_at(delivery: Delivery, terms: Terms, now: Instant) -> Instant | None:
    """Return when to look up again what was not found, or None when that is believed."""
    since = delivery.began_at if delivery.doubted_at is None else delivery.doubted_at
    if since is None:
        return None
    believed_at = later(since, lag_us(terms))
    if now >= believed_at:
        return None
    return min(later(now, max(now - since, FIRST_LOOK_US)), believed_at)


def lag_us(terms: Terms) -> int:
    """Return how long after a send a lookup may still miss it."""
    return _us(terms.promise.lookup_lag or 0.0)


def _us(seconds: float) -> int:
    return int(seconds * SECOND_US)
