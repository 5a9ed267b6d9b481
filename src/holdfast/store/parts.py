"""The parts of a store that both databases share: everything but jobs, plans and queues."""

from __future__ import annotations

from holdfast.store.credentials.secrets import SecretRows
from holdfast.store.credentials.sessions import SessionRows
from holdfast.store.credentials.tokens import TokenRows
from holdfast.store.schema.system_tables import SystemTables
from holdfast.store.statements.sql import Sql
from holdfast.store.tables.activity import ActivityCounts
from holdfast.store.tables.audit import AuditRows
from holdfast.store.tables.dead_letters import LetterRows
from holdfast.store.tables.deliveries import DeliveryRows
from holdfast.store.tables.drains import DrainRows
from holdfast.store.tables.due import DueRows
from holdfast.store.tables.erasure import ErasureRows
from holdfast.store.tables.inbox import InboxRows
from holdfast.store.tables.outbox import MessagesAdded, OutboxRows
from holdfast.store.tables.replays import ReplayRows
from holdfast.store.tables.retention import RetentionRows
from holdfast.store.tables.tail import TailRows
from holdfast.store.tables.upstreams import UpstreamRows


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
        self.activity = ActivityCounts(sql)
        self.drains = DrainRows(sql)
