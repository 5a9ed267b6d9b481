"""Deliveries, each made once: what a stage asks for, what they are sent through, how they stand.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.core.delivery.delivery import DeliveryKey, DeliveryState
from holdfast.core.delivery.promise import Promise
from holdfast.runtime.attempts.notify import Notify, Recipient
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Evidence, Provider
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.views.delivery import DeliveryView, Reconciliation

__all__ = [
    "CourierOptions",
    "DeliveryFilter",
    "DeliveryKey",
    "DeliveryState",
    "DeliveryView",
    "Evidence",
    "Notify",
    "Promise",
    "Provider",
    "Recipient",
    "Reconciliation",
]
