"""From where on PostgreSQL's claims look for due jobs."""

from holdfast.core.plan import Route
from holdfast.store.postgres.lanes import HEADS_FROM, Lanes
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import new_job

ONE = Route("default", "one", "first")
TWO = Route("default", "two", "first")


def claimed(pipeline, run_at):
    return as_stored(new_job(pipeline=pipeline, stage="first", run_at=run_at))


def test_a_claim_goes_on_from_the_last_job_that_was_claimed():
    lanes = Lanes(spares=False)
    lanes.values([ONE], limit=HEADS_FROM, first=1)
    lanes.note([claimed("one", 5), claimed("one", 9)])

    lanes.values([ONE], limit=HEADS_FROM, first=1)

    assert lanes.has_heads([ONE])
    assert "9" in str(lanes.arrays([ONE])["heads_at"])


def test_a_route_that_came_back_short_rewinds_and_its_neighbours_go_on():
    lanes = Lanes(spares=False)
    lanes.values([ONE, TWO], limit=HEADS_FROM, first=1)
    lanes.note([claimed("one", 5), claimed("two", 6)])

    lanes.rewind([TWO])

    assert lanes.has_heads([ONE])
    assert not lanes.has_heads([TWO])


def test_a_small_claim_looks_from_the_start_for_its_own_routes_only():
    lanes = Lanes(spares=False)
    lanes.values([ONE, TWO], limit=HEADS_FROM, first=1)
    lanes.note([claimed("one", 5), claimed("two", 6)])

    lanes.values([TWO], limit=HEADS_FROM - 1, first=1)

    assert lanes.has_heads([ONE])
    assert not lanes.has_heads([TWO])
