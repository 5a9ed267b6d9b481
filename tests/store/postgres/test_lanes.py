"""From where on PostgreSQL's claims look for due jobs."""

from holdfast.core.job.plan import Route
from holdfast.store.postgres.lanes import HEADS_FROM, REWIND_S, Lanes
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import after, claim, new_job, submitted

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


def test_after_a_while_a_claim_looks_from_the_start_again():
    lanes = Lanes(spares=False)
    lanes.values([ONE, TWO], limit=HEADS_FROM, first=1)
    lanes.note([claimed("one", 5), claimed("two", 6)])
    lanes._rewound_s -= REWIND_S

    values = lanes.values([ONE, TWO], limit=HEADS_FROM, first=1)

    assert not lanes.has_heads([ONE, TWO])
    assert values["heads_at"] == Lanes(spares=False).arrays([ONE, TWO], first=1)["heads_at"]


def test_a_job_that_comes_to_be_due_behind_those_claimed_is_claimed(postgres_url, open_store):
    store = open_store(postgres_url)
    store.insert([new_job(run_at=after(-5)) for _ in range(3 * HEADS_FROM)])
    claim(store, limit=HEADS_FROM)
    (early,) = submitted(store, run_at=after(-9))
    store._lanes._rewound_s -= REWIND_S

    assert claim(store, limit=HEADS_FROM)[0].id == early


def test_after_a_claim_that_came_back_short_the_next_looks_from_the_start(postgres_url, open_store):
    store = open_store(postgres_url)
    store.insert([new_job(run_at=after(-5)) for _ in range(HEADS_FROM + 1)])
    assert len(claim(store, limit=HEADS_FROM)) == HEADS_FROM
    assert len(claim(store, limit=HEADS_FROM)) == 1
    (early,) = submitted(store, run_at=after(-9))
    submitted(store, HEADS_FROM)

    assert claim(store, limit=HEADS_FROM)[0].id == early
