"""Nobody waits for ever behind others: neither the less urgent nor a slow pipeline's neighbours."""

import pytest

from holdfast import JobState, Submit
from holdfast.core.job import MOST_URGENT, PRIORITIES
from holdfast.runtime.claimer import BATCH, FIRSTS
from holdfast.testing import Script
from tests.runtime.crew import Crew, pipeline_of


class TestUrgency:
    @pytest.mark.parametrize("limit", [1, 5])
    def test_a_constant_feed_of_urgent_jobs_makes_others_wait_but_not_for_ever(
        self, open_app, limit
    ):
        app = open_app(pipeline_of(Script(then=1)))
        patient = [app.submit("p", priority=priority) for priority in (3, 2, 1)]
        crew = Crew(app, limit=limit)
        rounds, urgent = 0, BATCH
        while any(job.get().state is JobState.QUEUED for job in patient):
            # More than any claim can take, however fast these handlers are.
            app.submit_many("p", [Submit(priority=0)] * urgent)
            crew.claim()
            urgent = crew.lane.load()
            crew.lane.run()
            crew.report()
            rounds += 1
            assert rounds <= len(FIRSTS)

        assert rounds > 2

    def test_urgent_jobs_get_most_turns_and_every_priority_gets_one(self):
        assert set(FIRSTS) == set(PRIORITIES)
        assert FIRSTS.count(MOST_URGENT) == 0.9 * len(FIRSTS)

    def test_a_turn_of_the_less_urgent_leaves_most_of_the_lane_to_the_urgent(self, open_app):
        app = open_app(pipeline_of(Script(then=1)))
        crew = Crew(app, limit=20)
        for _ in range(FIRSTS.index(1)):
            crew.claim()
        for priority in (0, 1):
            for _ in range(20):
                app.submit("p", priority=priority)
        crew.claim()
        crew.claim()

        started = [attempt.job.priority for attempt in crew.lane.waiting]
        assert started.count(1) == 2
        assert started.count(0) == 18

    def test_without_rivals_the_least_urgent_fill_the_lane(self, open_app):
        app = open_app(pipeline_of(Script(then=1)))
        crew = Crew(app, limit=10)
        for _ in range(10):
            app.submit("p", priority=3)
        crew.claim()

        assert crew.lane.load() == 10
