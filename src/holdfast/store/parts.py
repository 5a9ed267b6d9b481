"""The parts of a store that both databases share: everything but jobs, plans and queues."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.store.audit import AuditRows
from holdfast.store.deliveries import DeliveryRows
from holdfast.store.drains import DrainRows
from holdfast.store.due import DueRows
from holdfast.store.inbox import InboxRows
from holdfast.store.letters import LetterRows
from holdfast.store.outbox import OutboxRows
from holdfast.store.replays import ReplayRows
from holdfast.store.retention import RetentionRows
from holdfast.store.secrets import SecretRows
from holdfast.store.sessions import SessionRows
from holdfast.store.sql import Sql
from holdfast.store.tail import TailRows
from holdfast.store.tallies import TallyRows
from holdfast.store.tokens import TokenRows
from holdfast.store.upstreams import UpstreamRows


class Parts:
    """What both stores are made of, on statements of their own dialect."""

    def _make_parts(self, sql: Sql, *, message_added: Callable[[], None] = lambda: None) -> None:
        """Make them; `message_added` wakes whoever waits for messages, where that takes a call."""
        self.upstreams = UpstreamRows(sql)
        self.audit = AuditRows(sql)
        self.secrets = SecretRows(sql)
        self.retention = RetentionRows(sql)
        self.letters = LetterRows(sql)
        self.replays = ReplayRows(sql)
        self.outbox = OutboxRows(sql, added=message_added)
        self.inbox = InboxRows(sql)
        self.deliveries = DeliveryRows(sql)
        self.due = DueRows(sql)
        self.tail = TailRows(sql)
        self.tokens = TokenRows(sql)
        self.sessions = SessionRows(sql)
        self.tallies = TallyRows(sql)
        self.drains = DrainRows(sql)
