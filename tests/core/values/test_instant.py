from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.instant import (
    FAR_FUTURE,
    Instant,
    from_datetime,
    later,
    to_datetime,
    to_rfc3339,
)

instants = st.integers(0, FAR_FUTURE).map(Instant)


@given(instants)
def test_an_instant_survives_being_a_datetime(instant):
    assert from_datetime(to_datetime(instant)) == instant
    assert datetime.fromisoformat(to_rfc3339(instant)) == to_datetime(instant)


@given(instants, st.integers(-(10**20), 10**20))
def test_no_span_leads_out_of_the_calendar(instant, span_us):
    moved = later(instant, span_us)

    assert moved <= FAR_FUTURE
    assert moved == instant + span_us or moved == FAR_FUTURE < instant + span_us


def test_the_last_instant_is_the_last_microsecond_of_9999():
    assert to_rfc3339(FAR_FUTURE) == "9999-12-31T23:59:59.999999Z"


def test_the_epoch_is_written_in_utc_with_microseconds():
    assert to_rfc3339(Instant(1)) == "1970-01-01T00:00:00.000001Z"


@pytest.mark.parametrize(
    "zone", [UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Pacific/Chatham")]
)
def test_the_zone_of_a_datetime_does_not_matter(zone):
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)

    assert from_datetime(moment.astimezone(zone)) == from_datetime(moment)


@pytest.mark.parametrize("fold", [0, 1])
def test_an_hour_that_comes_twice_is_two_instants(fold):
    lord_howe = ZoneInfo("Australia/Lord_Howe")
    moment = datetime(2026, 4, 5, 1, 45, tzinfo=lord_howe, fold=fold)

    first = from_datetime(datetime(2026, 4, 5, 1, 45, tzinfo=lord_howe))
    assert from_datetime(moment) - first == fold * 30 * 60 * 1_000_000


def test_a_datetime_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="has no time zone"):
        from_datetime(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point
