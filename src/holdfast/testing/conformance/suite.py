"""All of the suite in one class."""

import pytest

from holdfast.store.contract import Store
from holdfast.testing.conformance.audit import RecordConformance
from holdfast.testing.conformance.dead_letters.dead_letters import BuryConformance
from holdfast.testing.conformance.dead_letters.message_letters import DeadMessageConformance
from holdfast.testing.conformance.dead_letters.replays import ReplayConformance
from holdfast.testing.conformance.deliveries import DeliveryConformance
from holdfast.testing.conformance.fleet.activity import ActivityConformance
from holdfast.testing.conformance.fleet.plans_queues_workers import KeepConformance
from holdfast.testing.conformance.fleet.rates import RateConformance
from holdfast.testing.conformance.fleet.tail import TailConformance
from holdfast.testing.conformance.fleet.upstreams import UpstreamConformance
from holdfast.testing.conformance.fleet.wakeups import ListenConformance
from holdfast.testing.conformance.jobs.claims import ClaimConformance
from holdfast.testing.conformance.jobs.corrections import CorrectConformance
from holdfast.testing.conformance.jobs.decisions import ApplyConformance
from holdfast.testing.conformance.jobs.due import DueConformance
from holdfast.testing.conformance.jobs.filters import FindConformance
from holdfast.testing.conformance.jobs.inserts import InsertConformance
from holdfast.testing.conformance.jobs.keys import KeyConformance
from holdfast.testing.conformance.jobs.leases import RenewConformance
from holdfast.testing.conformance.jobs.owners import OwnerConformance
from holdfast.testing.conformance.jobs.races import RaceConformance
from holdfast.testing.conformance.jobs.reads import ReadConformance
from holdfast.testing.conformance.jobs.sweeps import SweepConformance
from holdfast.testing.conformance.messages.commits import MessageCommitConformance
from holdfast.testing.conformance.messages.inbox import InboxConformance
from holdfast.testing.conformance.messages.outbox import OutboxConformance
from holdfast.testing.conformance.messages.outbox_types import TypedOutboxConformance
from holdfast.testing.conformance.oddities import OddityConformance
from holdfast.testing.conformance.retention.deliveries import DeliveryPurgeConformance
from holdfast.testing.conformance.retention.jobs import PurgeConformance
from holdfast.testing.conformance.retention.records import RecordPurgeConformance
from holdfast.testing.conformance.system_statements import StatementConformance
from holdfast.testing.conformance.tokens import TokenConformance


class StoreConformance(
    InsertConformance,
    ClaimConformance,
    DueConformance,
    ApplyConformance,
    BuryConformance,
    CorrectConformance,
    RenewConformance,
    SweepConformance,
    ReadConformance,
    FindConformance,
    KeepConformance,
    KeyConformance,
    PurgeConformance,
    RecordPurgeConformance,
    ListenConformance,
    OddityConformance,
    OutboxConformance,
    TypedOutboxConformance,
    MessageCommitConformance,
    InboxConformance,
    DeadMessageConformance,
    RaceConformance,
    ReplayConformance,
    UpstreamConformance,
    RateConformance,
    TailConformance,
    DeliveryConformance,
    DeliveryPurgeConformance,
    OwnerConformance,
    RecordConformance,
    TokenConformance,
    ActivityConformance,
    StatementConformance,
):
    """Every test of a store; subclass it under a name that starts with `Test`."""

    @pytest.fixture
    def other_store(self, store: Store) -> Store:
        """A second store on the same database."""
        return store.reserve("other")
