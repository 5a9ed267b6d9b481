import dataclasses

import pytest

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retention import DAY_S, MAX_SECONDS, NOTHING, PLAN_S, Retention, longest
from holdfast.errors import InvalidPolicy

NOW = Instant(1_700_000_000 * SECOND_US)
FIELDS = [field.name for field in dataclasses.fields(Retention)]


def test_by_default_what_ended_is_kept_for_a_while_and_what_waits_for_somebody_for_ever():
    keep = Retention()

    assert (keep.complete, keep.cancelled, keep.failed) == (7 * DAY_S, 7 * DAY_S, 30 * DAY_S)
    assert (keep.audit, keep.replays) == (365 * DAY_S, 90 * DAY_S)
    assert (keep.deliveries, keep.messages, keep.inbox) == (90 * DAY_S, 7 * DAY_S, 30 * DAY_S)
    assert keep.figures == 30 * DAY_S


@pytest.mark.parametrize("field", FIELDS)
def test_a_cutoff_lies_as_far_back_as_its_kind_is_kept(field):
    cutoffs = dataclasses.replace(Retention(), **{field: 12.5}).cutoffs(NOW)

    assert getattr(cutoffs, field) == NOW - 12_500_000
    assert cutoffs.plans == NOW - PLAN_S * SECOND_US


@pytest.mark.parametrize("field", FIELDS)
def test_nothing_lies_before_the_cutoff_of_what_is_kept_for_ever(field):
    cutoffs = dataclasses.replace(Retention(), **{field: None}).cutoffs(NOW)

    assert getattr(cutoffs, field) == NOTHING < 0


def test_a_time_longer_than_the_clock_has_run_keeps_everything():
    assert Retention(complete=MAX_SECONDS).cutoffs(NOW).complete == NOTHING


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [-1, MAX_SECONDS + 1, float("nan"), float("inf"), "7d", True])
def test_a_time_that_makes_no_sense_is_refused(field, value):
    with pytest.raises(InvalidPolicy) as caught:
        Retention(**{field: value})

    assert (caught.value.owner, caught.value.field) == ("Retention", field)
    assert "None for ever" in str(caught.value)


def test_nothing_may_be_kept_at_all():
    assert Retention(complete=0).cutoffs(NOW).complete == NOW


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("one", "other", "kept"), [(5.0, 9.0, 9.0), (9.0, 5.0, 9.0), (5.0, None, None)]
)
def test_of_several_the_longest_counts_field_by_field(field, one, other, kept):
    first, second = (dataclasses.replace(Retention(), **{field: each}) for each in (one, other))

    assert longest([first, second]) == dataclasses.replace(Retention(), **{field: kept})
