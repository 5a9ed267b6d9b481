"""Plans, queues, workers, and what a store says about itself."""

from holdfast.core.job.access import Access, RetryBy, SubmitBy
from holdfast.core.job.event import Done, Failed
from holdfast.core.job.job import PlanDigest, WorkerId
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retention import DAY_S
from holdfast.core.values.retry import Retry
from holdfast.store.contract import Leases, PausedQueue, Store, WorkerRow
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PASSING_FAILURE,
    PLAN,
    after,
    after_event,
    claim,
    started,
    submitted,
)


def _worker(name: str, *, seen_at: int = 0, state: str = "running") -> WorkerRow:
    return WorkerRow(
        id=WorkerId(name),
        host="host-1",
        pid=4711,
        started_at=NOW,
        seen_at=after(seen_at),
        queues='["default"]',
        concurrency=16,
        state=state,
    )


class KeepConformance:
    """What plans, queues, workers, the clock, the schema and `verify` promise."""

    def test_a_plan_is_read_as_it_was_saved(self, store: Store) -> None:
        plan = Plan(
            "letters",
            (
                StagePlan("draft", Retry(delays=[5, 15, 45], jitter="spread", spread=0.2)),
                StagePlan("send", Retry(attempts=9), timeout_us=5, upstream="smtp", max_snoozes=3),
            ),
            deadline_us=90 * SECOND_US,
        )

        store.save_plan(plan, now=NOW)

        found = store.load_plan("letters", plan.digest)
        assert found == plan
        assert found is not None
        assert found.digest == plan.digest

    def test_a_plan_may_be_saved_again(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        store.save_plan(PLAN, now=after(5))

        assert store.load_plan("letters", PLAN.digest) == PLAN

    def test_an_unknown_plan_is_none(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)

        assert store.load_plan("letters", PlanDigest("0000")) is None
        assert store.load_plan("parcels", PLAN.digest) is None

    def test_the_newest_plan_of_a_pipeline_is_the_one_asked_for_last(self, store: Store) -> None:
        rules = Access(SubmitBy.SYSTEM, "/upload", RetryBy.WORKFLOW, refuses_retries=True)
        closed = Plan(PLAN.pipeline, PLAN.stages, PLAN.deadline_us, rules)

        store.save_plan(closed, now=NOW)
        store.save_plan(PLAN, now=after(1))
        assert store.newest_plan("letters") == PLAN

        store.save_plan(closed, now=after(2 * DAY_S))
        found = store.newest_plan("letters")
        assert found is not None
        assert (found, found.access) == (closed, rules)
        assert store.newest_plan("parcels") is None

    def test_a_queue_is_paused_once_and_resumed_once(self, store: Store) -> None:
        why = "it's % \\ odd"
        assert store.pause_queue("default", by="ada", now=NOW, reason=why) is True
        assert store.pause_queue("default", by="bob", now=after(1), reason="no") is False

        (counts,) = store.queues(now=NOW)
        assert (counts.paused_at, counts.paused_by, counts.paused_reason) == (NOW, "ada", why)
        assert store.paused_queues() == [PausedQueue("default", NOW, "ada", why)]

        assert store.resume_queue("default") is True
        assert store.resume_queue("default") is False
        assert store.paused_queues() == []

    def test_leases_are_counted_by_worker(self, store: Store) -> None:
        assert store.leased(now=NOW) == {}
        submitted(store, 3)
        claim(store, limit=2, holder=WorkerId("a"))
        claim(store, holder=WorkerId("b"))

        assert store.leased(now=NOW) == {"a": Leases(2), "b": Leases(1)}

    def test_a_job_whose_lease_has_ended_is_run_by_nobody(self, store: Store) -> None:
        submitted(store, 3)
        claim(store, limit=2, holder=WorkerId("a"), lease_us=5 * SECOND_US)
        claim(store, holder=WorkerId("b"), lease_us=60 * SECOND_US)

        (early,), (late,) = store.queues(now=after(5)), store.queues(now=after(6))
        assert (early.processing, early.expired) == (3, 0)
        assert (late.processing, late.expired) == (1, 2)
        assert store.leased(now=after(6)) == {"a": Leases(0, 2), "b": Leases(1)}

    def test_a_worker_says_which_stages_it_runs(self, store: Store) -> None:
        stages = '["letters/draft"]'
        store.record_worker(_worker("a")._replace(stages=stages))
        store.record_worker(_worker("a", seen_at=4)._replace(stages=stages))

        assert [worker.stages for worker in store.workers()] == [stages]

    def test_workers_are_listed_latest_seen_first(self, store: Store) -> None:
        store.record_worker(_worker("a", seen_at=1))
        store.record_worker(_worker("b", seen_at=3))
        store.record_worker(_worker("c", seen_at=2))
        store.record_worker(_worker("a", seen_at=4, state="draining"))

        assert store.workers() == [
            _worker("a", seen_at=4, state="draining"),
            _worker("b", seen_at=3),
            _worker("c", seen_at=2),
        ]

    def test_workers_not_seen_for_long_are_forgotten(self, store: Store) -> None:
        store.record_worker(_worker("a", seen_at=1))
        store.record_worker(_worker("b", seen_at=2))
        store.record_worker(_worker("c", seen_at=3))

        assert store.forget_workers(seen_before=after(3)) == 2
        assert store.workers() == [_worker("c", seen_at=3)]
        assert store.forget_workers(seen_before=after(3)) == 0

    def test_the_clock_does_not_run_backwards(self, store: Store) -> None:
        first = store.read_clock()
        second = store.read_clock()

        assert 0 <= second - first < 60 * SECOND_US

    def test_a_migrated_store_has_nothing_left_to_migrate(self, store: Store) -> None:
        store.check_schema()

        assert store.pending_migrations() == []
        assert store.migrate() == []

    def test_a_store_tells_facts_about_itself(self, store: Store) -> None:
        facts = store.facts()

        assert facts["product"]
        assert all(isinstance(value, str) for value in facts.values())

    def test_what_the_engine_itself_does_breaks_no_invariant(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        job = after_event(store, started(store), Failed(PASSING_FAILURE))
        (job,) = claim(store, now=job.run_at)
        job = after_event(store, job, Done('"drafted"'), now=job.updated_at)
        (job,) = claim(store, now=job.run_at)
        after_event(store, started(store), Failed(LASTING_FAILURE))
        submitted(store, 2)

        assert store.verify(now=job.updated_at) == []
