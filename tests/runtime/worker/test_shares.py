"""How a lane is divided among the pipelines whose jobs run in it."""

from holdfast.core.job.plan import Route
from holdfast.core.values.instant import Instant, later
from holdfast.runtime.worker.shares import KEPT, REST_US, Share, Shares, is_shared
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import new_job

SLOW = Route("default", "slow", "one")
FAST = Route("default", "fast", "one")
NOW = Instant(1_000_000)
PLACES = 20


def test_a_lane_is_divided_only_among_several_and_with_places_enough():
    assert is_shared([SLOW, FAST], PLACES)
    assert not is_shared([SLOW, Route("default", "slow", "two")], PLACES)
    assert not is_shared([SLOW, FAST], KEPT - 1)


def test_crowds_that_may_have_as_much_as_each_other_are_looked_for_together():
    shares = Shares([SLOW, FAST])

    [share] = shares.divide([SLOW, FAST], [], places=PLACES, room=PLACES, now=NOW)

    assert share == Share([SLOW, FAST], PLACES - PLACES // KEPT)


def test_a_crowd_that_has_its_share_is_left_out():
    shares = Shares([SLOW, FAST])
    held = [as_stored(new_job(pipeline="slow"))] * (PLACES - PLACES // KEPT)

    assert shares.divide([SLOW, FAST], held, places=PLACES, room=2, now=NOW) == [Share([FAST], 2)]


def test_a_crowd_without_due_jobs_rests_and_is_looked_for_again():
    shares = Shares([SLOW, FAST])

    shares.let_rest([Share([SLOW], 5)], NOW)

    assert shares.awake([SLOW, FAST], NOW) == [FAST]
    assert shares.awake([SLOW, FAST], later(NOW, REST_US - 1)) == [FAST]
    assert shares.awake([SLOW, FAST], later(NOW, REST_US)) == [SLOW, FAST]
