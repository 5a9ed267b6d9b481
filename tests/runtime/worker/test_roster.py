"""The workers of an application in one process, and what they know together."""

from holdfast.runtime.worker.roster import Member, Roster


def test_a_worker_that_does_not_run_a_stage_hides_nothing_of_one_that_does():
    roster = Roster()
    for name, breaker in (("a", None), ("b", "open"), ("c", None)):
        roster.join(name, Member({}, {}, lambda: 0, lambda _job, breaker=breaker: breaker))

    assert roster.breaker_of(None) == "open"
    roster.leave("b")
    assert roster.breaker_of(None) is None
