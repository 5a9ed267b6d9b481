"""The parts of a store that both databases share: everything but jobs, plans and queues."""

from __future__ import annotations

from holdfast.store.audit import AuditRows
from holdfast.store.deliveries import DeliveryRows
from holdfast.store.drains import DrainRows
from holdfast.store.due import DueRows
from holdfast.store.erasure import ErasureRows
from holdfast.store.inbox import InboxRows
from holdfast.store.letters import LetterRows
from holdfast.store.outbox import MessagesAdded, OutboxRows
from holdfast.store.replays import ReplayRows
from holdfast.store.retention import RetentionRows
from holdfast.store.secrets import SecretRows
from holdfast.store.sessions import SessionRows
from holdfast.store.sql import Sql
from holdfast.store.system_tables import SystemTables
from holdfast.store.tail import TailRows
from holdfast.store.tallies import TallyRows
from holdfast.store.tokens import TokenRows
from holdfast.store.upstreams import UpstreamRows


class Parts:
    """What both stores are made of, on statements of their own dialect."""

    tables: tuple[SystemTables, ...] = ()

    def _make_parts(self, sql: Sql, *, messages_added: MessagesAdded) -> None:
        """Make them; `messages_added` wakes relays."""
        self.upstreams = UpstreamRows(sql)
        self.audit = AuditRows(sql)
        self.secrets = SecretRows(sql)
        self.retention = RetentionRows(sql)
        self.erasure = ErasureRows(sql)
        self.letters = LetterRows(sql, messages_added=messages_added)
        self.replays = ReplayRows(sql)
        self.outbox = OutboxRows(sql, messages_added=messages_added)
        self.inbox = InboxRows(sql)
        self.deliveries = DeliveryRows(sql)
        self.due = DueRows(sql)
        self.tail = TailRows(sql)
        self.tokens = TokenRows(sql)
        self.sessions = SessionRows(sql)
        self.tallies = TallyRows(sql)
        self.drains = DrainRows(sql)
