"""What the list of what needs a person is made of, as it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from holdfast.core.dead_letter.replay import Replay
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import Instant
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.store.tables.deliveries import DeliveryStanding
from holdfast.store.tables.outbox import Standing
from holdfast.views.explain.waiting import Around


class DueRoute(NamedTuple):
    """Due jobs of one stage, and the upstream that it calls."""

    route: Route
    due: int
    since: Instant
    upstream: str | None = None


class Read(NamedTuple):
    """What the list is made of, as it was read."""

    now: Instant
    around: Around = Around()
    due: Sequence[DueRoute] = ()
    groups: Sequence[LetterGroup] = ()
    called: Mapping[tuple[str, str], str] = MappingProxyType({})
    """The upstreams that stages call, by pipeline and stage."""
    unattended: Sequence[DeliveryStanding] = ()
    stopped: Sequence[tuple[Replay, int]] = ()
    """Replays that stopped, with how many letters of each still wait to be sent."""
    outbox: Standing = Standing(0, None, 0)
    message_due_at: Instant | None = None
    """When the first pending message is, or was, due."""
