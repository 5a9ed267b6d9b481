"""All of the suite in one class."""

import pytest

from holdfast.store.contract import Store
from holdfast.testing.conformance.admitting import TokenConformance
from holdfast.testing.conformance.applying import ApplyConformance
from holdfast.testing.conformance.burying import BuryConformance
from holdfast.testing.conformance.claiming import ClaimConformance
from holdfast.testing.conformance.committing_messages import MessageCommitConformance
from holdfast.testing.conformance.consuming import InboxConformance
from holdfast.testing.conformance.correcting import CorrectConformance
from holdfast.testing.conformance.delivering import DeliveryConformance
from holdfast.testing.conformance.due import DueConformance
from holdfast.testing.conformance.finding import FindConformance
from holdfast.testing.conformance.inserting import InsertConformance
from holdfast.testing.conformance.keeping import KeepConformance
from holdfast.testing.conformance.keeping_keys import KeyConformance
from holdfast.testing.conformance.listening import ListenConformance
from holdfast.testing.conformance.messages import DeadMessageConformance
from holdfast.testing.conformance.oddities import OddityConformance
from holdfast.testing.conformance.owning import OwnerConformance
from holdfast.testing.conformance.publishing import OutboxConformance
from holdfast.testing.conformance.publishing_types import TypedOutboxConformance
from holdfast.testing.conformance.purging import PurgeConformance
from holdfast.testing.conformance.purging_deliveries import DeliveryPurgeConformance
from holdfast.testing.conformance.purging_records import RecordPurgeConformance
from holdfast.testing.conformance.racing import RaceConformance
from holdfast.testing.conformance.rates import RateConformance
from holdfast.testing.conformance.reading import ReadConformance
from holdfast.testing.conformance.recording import RecordConformance
from holdfast.testing.conformance.renewing import RenewConformance
from holdfast.testing.conformance.replaying import ReplayConformance
from holdfast.testing.conformance.stating import StatementConformance
from holdfast.testing.conformance.sweeping import SweepConformance
from holdfast.testing.conformance.tailing import TailConformance
from holdfast.testing.conformance.tallying import TallyConformance
from holdfast.testing.conformance.upstreams import UpstreamConformance


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
    TallyConformance,
    StatementConformance,
):
    """Every test of a store; subclass it under a name that starts with `Test`."""

    @pytest.fixture
    def other_store(self, store: Store) -> Store:
        """A second store on the same database."""
        return store.reserve("other")
