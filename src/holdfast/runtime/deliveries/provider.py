"""What deliveries are sent through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from holdfast.core.delivery.delivery import Terms
from holdfast.core.delivery.promise import Promise
from holdfast.errors import UnknownProvider, UsageError
from holdfast.runtime.kernel.stage import UpstreamTerms

TO: Final = "to"
"""Under which name a message holds its recipient, unless the provider says otherwise."""


class Evidence(NamedTuple):
    """What a provider says about a message it has accepted."""

    notification_id: str | None
    """Its own id for the message, where it gives one."""


class Provider(Protocol):
    """Takes messages for recipients: an e-mail service, a mail server, a webhook.

    One call is one request: whatever a client library would repeat by itself is switched off, so
    that attempts are counted once. What is raised is classified like the exceptions of handlers;
    `outcome_known` of the failure says whether the message may have been accepted all the same.

    One whose promise has a `lookup_lag` has a `lookup` too, as `LooksUp` says. It may have more:
    `check(message)` raises when a message can never be sent, before anything is stored;
    `addressed_by` names the field of a message that holds the recipient; `upstream` is the
    `Upstream` whose breaker guards the calls; `retry` says how often a message is sent through it,
    where that is not as `CourierOptions` says.
    """

    name: str
    promise: Promise

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Hand a frozen message over; `token` is the same for every try of one delivery.

        `message` is what is to be sent, with the recipient under `to`. `timeout_s` is for the call
        as a whole.
        """
        ...


@runtime_checkable
class LooksUp(Protocol):
    """A provider that can be asked what became of a message."""

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        """Return what the provider knows of an earlier `send`, or None when it knows nothing."""
        ...


@dataclass(frozen=True, slots=True)
class BoundProvider:
    """A provider, and on what terms a courier uses it."""

    provider: Provider
    terms: Terms
    upstream: UpstreamTerms | None = None

    def __post_init__(self) -> None:
        if self.provider.promise.lookup_lag is not None and not isinstance(self.provider, LooksUp):
            raise UsageError(
                f"provider {self.name!r} promises lookups (lookup_lag) and has no method lookup"
            )

    @property
    def name(self) -> str:
        """The name under which deliveries are stored."""
        return self.provider.name

    def addressed(self, message: Mapping[str, Any], recipient: str) -> dict[str, Any]:
        """Return the message with its recipient, or raise when it can never be sent."""
        field = getattr(self.provider, "addressed_by", TO)
        whole = {**message, field: recipient}
        check = getattr(self.provider, "check", None)
        if check is not None:
            check(whole)
        return whole


class Providers:
    """The providers of an application, by name."""

    def __init__(self, bound: Sequence[BoundProvider] = ()) -> None:
        self._by_name: dict[str, BoundProvider] = {}
        for each in bound:
            if self._by_name.setdefault(each.name, each) is not each:
                raise UsageError(f"two providers are called {each.name!r}")

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[BoundProvider]:
        return iter(self._by_name.values())

    def get(self, name: str) -> BoundProvider | None:
        """Return the provider of that name, if there is one."""
        return self._by_name.get(name)

    def chosen(self, name: str | None) -> BoundProvider:
        """Return the provider of that name, or the only one, or raise `UnknownProvider`."""
        if name is None and len(self._by_name) == 1:
            return next(iter(self._by_name.values()))
        found = None if name is None else self._by_name.get(name)
        if found is None:
            raise UnknownProvider(name, known=self._by_name)
        return found
