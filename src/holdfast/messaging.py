"""Messages: published with a job's decision or by hand, relayed, received.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.core.values.outbox import OutboxStatus
from holdfast.runtime.events.decided import Decided, DecidedFailure, Message
from holdfast.runtime.outbox.received import Handle, HandleMany, Received
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.runtime.outbox.relay_process import Relay
from holdfast.runtime.outbox.transport import Transport
from holdfast.store.tables.outbox import OutboxFilter

__all__ = [
    "Decided",
    "DecidedFailure",
    "Handle",
    "HandleMany",
    "Message",
    "OutboxFilter",
    "OutboxStatus",
    "Received",
    "Relay",
    "RelayOptions",
    "Transport",
]
