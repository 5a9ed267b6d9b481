"""Options of workers, relays and couriers that make no sense are refused by name."""

import pytest

from holdfast.deliveries import CourierOptions
from holdfast.errors import InvalidPolicy, InvalidValue
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.workers import WorkerOptions


@pytest.mark.parametrize(
    ("kind", "field", "limit"),
    [
        (WorkerOptions, "concurrency", "a whole number from 1 to 10000"),
        (WorkerOptions, "lease", "a number from 0.1 to 86400"),
        (RelayOptions, "batch_size", "a whole number from 1 to 10000"),
        (RelayOptions, "poll_interval", "a number from 0.01 to 3600"),
        (CourierOptions, "concurrency", "a whole number from 1 to 1000"),
        (CourierOptions, "timeout", "a number from 0.05 to 3600"),
    ],
)
@pytest.mark.parametrize("value", [-1, 1e9, float("nan"), True, "5", None])
def test_a_value_outside_its_range_is_refused_with_the_range(kind, field, limit, value):
    with pytest.raises(InvalidValue) as caught:
        kind(**{field: value})

    assert (caught.value.field, caught.value.limit) == (field, limit)


def test_a_whole_number_is_a_number_and_a_number_is_not_always_whole():
    assert WorkerOptions(lease=5).lease == 5
    with pytest.raises(InvalidValue):
        WorkerOptions(concurrency=5.0)


def test_the_options_of_couriers_are_a_policy():
    with pytest.raises(InvalidPolicy) as caught:
        CourierOptions(concurrency=0)

    assert caught.value.owner == "CourierOptions"


@pytest.mark.parametrize(
    "options",
    [lambda: CourierOptions(timeout=20, lease=39), lambda: RelayOptions(publish_timeout=30)],
    ids=["courier", "relay"],
)
def test_a_lease_has_to_outlast_what_is_done_under_it(options):
    with pytest.raises(InvalidValue) as caught:
        options()

    assert caught.value.field == "lease"
