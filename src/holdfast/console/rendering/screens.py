"""The screens that the navigation leads to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from holdfast.api.auth.principal import Principal


class Screen(NamedTuple):
    """A place in the navigation; `key` after a `g` leads there."""

    name: str
    title: str
    path: str
    icon: str
    key: str = ""
    every_owner: bool = False
    """Whether it shows what belongs to no single owner."""
    summary: str = ""
    """What it is for, in a sentence."""


Navigation = tuple[tuple[str, tuple[Screen, ...]], ...]

NAVIGATION: Final[Navigation] = (
    (
        "Work",
        (
            Screen("overview", "Overview", "/", "overview", "o"),
            Screen("jobs", "Jobs", "/jobs", "jobs", "j"),
            Screen("queues", "Queues", "/queues", "queues", "q", every_owner=True),
            Screen("workers", "Workers", "/workers", "workers", "w", every_owner=True),
        ),
    ),
    (
        "Failures",
        (
            Screen("groups", "Failure groups", "/groups", "groups", "f"),
            Screen("letters", "Dead letters", "/dead-letters", "letters", "d"),
            Screen("replays", "Replays", "/replays", "replays", "r"),
            Screen("upstreams", "Upstreams", "/upstreams", "upstreams", "u", every_owner=True),
        ),
    ),
    (
        "Outgoing",
        (
            Screen("deliveries", "Deliveries", "/deliveries", "deliveries", "e"),
            Screen("outbox", "Outbox", "/outbox", "outbox", "x", every_owner=True),
        ),
    ),
    ("Record", (Screen("audit", "Audit log", "/audit", "audit", "a", every_owner=True),)),
)


def navigation_for(who: Principal, more: Iterable[Screen]) -> Navigation:
    """Return the screens that a visitor may look at, with those that others have added."""
    groups = (*NAVIGATION, ("More", tuple(more)))
    shown = (
        (
            group,
            tuple(each for each in screens if who.owner is None or not each.every_owner),
        )
        for group, screens in groups
    )
    return tuple((group, screens) for group, screens in shown if screens)
