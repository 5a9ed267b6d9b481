"""What an object has to have to be a provider."""

import pytest

from holdfast import Holdfast, UsageError
from holdfast.core.delivery.event import Finding
from holdfast.deliveries import CourierOptions, Evidence, Promise
from holdfast.runtime.deliveries.provider import BoundProvider
from holdfast.runtime.deliveries.sender import looked_up
from tests.core.delivery.deliveries import a_delivery


class Deaf:
    """A provider that takes messages and cannot be asked about them."""

    name = "deaf"

    def __init__(self, promise: Promise) -> None:
        self.promise = promise

    def send(self, message, *, token: str, timeout_s: float) -> Evidence:
        return Evidence(None)


def test_a_provider_that_cannot_be_asked_needs_no_lookup():
    with Holdfast("sqlite:///:memory:", providers=[Deaf(Promise(dedupes_for=60))]) as app:
        assert [bound.name for bound in app.dispatch.providers] == ["deaf"]


def test_a_provider_that_promises_lookups_and_has_none_is_refused():
    with pytest.raises(UsageError, match="'deaf' promises lookups"):
        Holdfast("sqlite:///:memory:", providers=[Deaf(Promise(lookup_lag=5))])


def test_who_cannot_be_asked_has_not_said():
    promise = Promise()
    bound = BoundProvider(Deaf(promise), CourierOptions().terms(promise))

    assert looked_up(a_delivery("asking"), bound).finding is Finding.UNAVAILABLE
