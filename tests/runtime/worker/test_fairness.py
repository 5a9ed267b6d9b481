"""Nobody waits for ever behind others: neither the less urgent nor a slow pipeline's neighbours."""

from collections import Counter

import pytest

from holdfast import JobState, Submit
from holdfast.core.job.job import MAX_URGENT, PRIORITIES
from holdfast.core.values.instant import SECOND_US
from holdfast.runtime.worker.claimer import BATCH, FIRSTS
from holdfast.runtime.worker.pace import PREFETCH_US
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
        assert FIRSTS.count(MAX_URGENT) == 0.9 * len(FIRSTS)

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


class TestCrowds:
    @pytest.fixture
    def app(self, open_app):
        return open_app(*(pipeline_of(Script(then=1), name=name) for name in ("slow", "quick")))

    def fill(self, crew):
        while crew.claim() == 0:
            pass

    def started(self, crew):
        return Counter(attempt.job.pipeline for attempt in crew.lane.waiting)

    def test_what_has_run_and_is_not_applied_yet_holds_no_place(self, app):
        app.submit_many("quick", [Submit()] * 30)
        crew = Crew(app, limit=10)
        self.fill(crew)
        crew.lane.run()
        self.fill(crew)

        assert self.started(crew) == {"quick": 9}

    @pytest.mark.parametrize(("places", "most"), [(10, 9), (19, 18), (40, 36)])
    def test_a_pipeline_whose_handlers_never_end_leaves_places_for_others(self, app, places, most):
        app.submit_many("slow", [Submit()] * 2 * places)
        crew = Crew(app, limit=places)
        self.fill(crew)
        assert self.started(crew) == {"slow": most}

        app.submit_many("quick", [Submit()] * 2 * places)
        self.fill(crew)
        assert self.started(crew)["quick"] >= 1
        assert crew.lane.load() <= places

    def test_a_second_slow_pipeline_leaves_places_for_a_third(self, open_app):
        app = open_app(*(pipeline_of(Script(then=1), name=name) for name in ("a", "b", "c")))
        crew = Crew(app, limit=100)
        for name in ("a", "b", "c"):
            app.submit_many(name, [Submit()] * 200)
            self.fill(crew)

        assert self.started(crew) == {"a": 90, "b": 9, "c": 1}

    def test_a_queue_of_its_own_keeps_one_owner_from_stopping_the_others(self, app):
        app.submit_many("slow", [Submit(owner="busy", queue="busy")] * 100)
        crew = Crew(app, limit=10, queues=("default", "busy"))
        self.fill(crew)
        job = app.submit("slow", owner="other")
        self.fill(crew)

        assert job.get().state is JobState.PROCESSING

    def test_a_lane_of_few_places_and_a_pipeline_without_rivals_use_them_all(self, app, open_app):
        alone = open_app(pipeline_of(Script(then=1), name="slow"))
        for crew in (Crew(app, limit=9), Crew(alone, limit=10)):
            app.submit_many("slow", [Submit()] * 20)
            self.fill(crew)

            assert crew.lane.load() == crew.lane.limit

    def test_the_pace_of_a_quick_pipeline_leases_nothing_ahead_for_a_slow_one(self, app):
        app.submit_many("slow", [Submit()] * 40)
        crew = Crew(app, limit=10)
        self.fill(crew)
        for _ in range(40):
            app.submit_many("quick", [Submit()] * 20)
            self.fill(crew)
            self.run_quick(crew)
            crew.clock.advance(PREFETCH_US / SECOND_US / 10)
        app.submit_many("quick", [Submit()] * 40)
        self.fill(crew)

        assert self.started(crew)["slow"] == 9
        assert self.started(crew)["quick"] > 1, "more of the quick one than the place that is left"

    def run_quick(self, crew):
        quick = [attempt for attempt in crew.lane.waiting if attempt.job.pipeline == "quick"]
        others = [attempt for attempt in crew.lane.waiting if attempt not in quick]
        crew.lane.waiting.clear()
        crew.lane.waiting.extend([*quick, *others])
        crew.lane.run(len(quick))
        crew.report()

    def test_what_a_pipeline_may_not_have_is_not_looked_for_in_a_tight_loop(self, app):
        app.submit_many("slow", [Submit()] * 20)
        crew = Crew(app, limit=10)
        self.fill(crew)

        assert crew.claim() >= 0.75 * SECOND_US
        app.submit("quick", delay=0.3)
        assert crew.claim() == 300_000

    def test_a_place_that_becomes_free_goes_to_the_pipeline_that_waits_for_one(self, app):
        app.submit_many("slow", [Submit()] * 20)
        crew = Crew(app, limit=10)
        self.fill(crew)
        crew.lane.run(1)
        crew.report()

        assert crew.claimer.wake.is_set()
        self.fill(crew)
        assert crew.lane.load() == 9
