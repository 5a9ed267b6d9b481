"""Random events against both databases and the pure model: rows are equal after every step."""

import itertools
from collections.abc import Callable

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.core.dead_letter.dead_letter import DeadLetter
from holdfast.core.dead_letter.lifecycle import letter_after
from holdfast.core.job.decision import Decision
from holdfast.core.job.event import (
    Answered,
    AnsweredFailure,
    CancelRequested,
    DeadlinePassed,
    Done,
    Event,
    Failed,
    Interrupted,
    LeaseExpired,
    ProgressNoted,
    Refused,
    RetryRequested,
    Snoozed,
    Suspended,
    WaitExpired,
)
from holdfast.core.job.job import ACTIVE, Job, JobState, WorkerId
from holdfast.core.job.lease import Lease, claimable, claimed, lease_of
from holdfast.core.job.lifecycle import ACCEPTS, decide, evolve
from holdfast.core.job.plan import Plan, Route, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.ids import IdSequence, JobId
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.retry import Retry
from holdfast.store.contract import JobFilter, LedgerEntry, NewJob, Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.rows import as_stored
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables.dead_letters import LetterFilter
from tests.store.conftest import TABLES

# Its own: ids only rise, and time passes here, which it does not in other tests.
IDS = IdSequence()
CHANCES = itertools.count()
RETRY = Retry(attempts=2, base=5.0, cap=20.0)
PLAN = Plan(
    "p",
    (StagePlan("one", RETRY), StagePlan("two", RETRY, max_snoozes=1), StagePlan("three", RETRY)),
)
QUEUES = ("default", 'slow, {quoted} "q"')
ROUTES = tuple(Route(queue, "p", stage.name) for queue in QUEUES for stage in PLAN.stages)
WORKERS = (WorkerId("worker-1"), WorkerId("worker \\ 2"))
EVENTFUL = (
    *[JobState.PROCESSING] * 3,
    *[JobState.FAILED, JobState.WAITING] * 2,
    JobState.QUEUED,
    JobState.CANCELLED,
)
START = Instant(1_700_000_000 * SECOND_US)

seconds = st.integers(0, 40).map(lambda number: number * SECOND_US)
documents = st.sampled_from(['{"a":1}', '"é, \\"x\\" {}"', "null", "[]"])
rolls = st.floats(0, 1, exclude_max=True)
picks = st.integers(0, 10**6)
failures = st.builds(
    Failure,
    error_class=st.sampled_from(["NETWORK", "INVALID"]),
    message=st.sampled_from(['it\'s {odd}, "really"', "plain"]),
    category=st.just(Category.TRANSIENT),
    retryable=st.booleans(),
    http_status=st.sampled_from([None, 429, 503]),
    retry_after_us=st.one_of(st.none(), seconds),
)
EVENTS: dict[type[Event], st.SearchStrategy[Event]] = {
    Done: st.builds(Done, documents),
    Failed: st.builds(Failed, failures),
    LeaseExpired: st.just(LeaseExpired()),
    Snoozed: st.builds(Snoozed, seconds),
    Interrupted: st.just(Interrupted()),
    Suspended: st.one_of(
        st.just(Suspended()), st.builds(Suspended, seconds.map(lambda us: later(START, us)))
    ),
    Answered: st.builds(Answered, st.sampled_from(["one", "two", "three"]), documents),
    AnsweredFailure: st.builds(AnsweredFailure, st.sampled_from(["one", "two", "three"]), failures),
    ProgressNoted: st.builds(
        ProgressNoted,
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(['half "done"', "é"]),
        st.one_of(st.none(), st.integers(0, 100)),
    ),
    WaitExpired: st.just(WaitExpired()),
    CancelRequested: st.builds(
        CancelRequested, st.just("ada"), st.sampled_from([None, "why, {not}?"])
    ),
    DeadlinePassed: st.just(DeadlinePassed()),
    Refused: st.builds(Refused, failures),
    RetryRequested: st.builds(RetryRequested, st.just("ada"), from_start=st.booleans()),
}


class StoreMachine(RuleBasedStateMachine):
    """Does the same to every store and to the model, and compares them."""

    open_stores: Callable[[], list[Store]]

    @initialize(priorities=st.lists(st.integers(0, 3), min_size=3, max_size=6))
    def open(self, priorities) -> None:
        self.stores = type(self).open_stores()
        self.now = START
        self.jobs: dict[JobId, Job] = {}
        self.fingerprints: dict[JobId, str | None] = {}
        self.ledgers: dict[JobId, list[LedgerEntry]] = {}
        self.letters: dict[JobId, DeadLetter | None] = {}
        self.checkpoints: dict[tuple[JobId, int, str], str] = {}
        self.leases: list[Lease] = []
        self.stale: list[Decision] = []
        self.paused: set[str] = set()
        for number, priority in enumerate(priorities):
            self.submit_and_compare(
                queue=QUEUES[number % 2],
                priority=priority,
                key=None,
                payload="{}",
                delay_us=0,
                deadline_us=None if number % 3 else 60 * SECOND_US,
            )

    def teardown(self) -> None:
        for store in getattr(self, "stores", []):
            store.close()

    @rule(span_us=seconds)
    def time_passes(self, span_us: int) -> None:
        self.now = later(self.now, span_us)

    @rule(
        queue=st.sampled_from(QUEUES),
        priority=st.integers(0, 3),
        key=st.sampled_from([None, None, None, "a", "b"]),
        payload=documents,
        delay_us=st.one_of(st.just(0), seconds),
        deadline_us=st.one_of(st.none(), seconds),
    )
    def submit(self, **values) -> None:
        self.submit_and_compare(**values)

    def submit_and_compare(self, *, queue, priority, key, payload, delay_us, deadline_us) -> None:
        new = NewJob(
            id=IDS.next(now=self.now, chance=next(CHANCES)),
            pipeline="p",
            plan=PLAN.digest,
            queue=queue,
            priority=priority,
            owner="",
            key=key,
            version=1,
            rerun_of=None,
            payload=payload,
            fingerprint=payload,
            trace=None,
            created_at=self.now,
            stage="one",
            run_at=later(self.now, delay_us),
            deadline_at=None if deadline_us is None else later(self.now, deadline_us),
        )
        twin = next((job for job in self.jobs.values() if key is not None and job.key == key), None)
        for store in self.stores:
            (answer,) = store.insert([new])
            assert (answer is None) == (twin is None)
            if twin is not None and answer is not None:
                expected = (twin.id, 1, self.fingerprints[twin.id], twin.state)
                assert tuple(answer)[:4] == expected
                assert answer[4:6] == (twin.created_at, twin.finished_at)
        if twin is None:
            self.jobs[new.id] = as_stored(new)
            self.fingerprints[new.id] = payload
            self.ledgers[new.id] = []

    @rule(
        worker=st.sampled_from(WORKERS),
        limit=st.integers(0, 3),
        routes=st.permutations(ROUTES).flatmap(
            lambda order: st.integers(0, 6).map(lambda count: order[:count])
        ),
        lease_us=seconds,
    )
    def claim(self, worker, limit, routes, lease_us) -> None:
        self.claim_and_compare(worker=worker, limit=limit, routes=routes, lease_us=lease_us)

    def claim_and_compare(self, *, worker, limit, routes, lease_us) -> None:
        lanes = [route for route in routes if route.queue not in self.paused]
        candidates = [
            (job.priority, lanes.index(route), job.run_at, job.id)
            for job in self.jobs.values()
            if claimable(job, now=self.now)
            and (route := Route(job.queue, job.pipeline, job.stage)) in lanes
        ]
        taken = [
            claimed(self.jobs[job_id], holder=worker, lease_us=lease_us, now=self.now)
            for *_, job_id in sorted(candidates)[:limit]
        ]
        taken.sort(key=lambda job: (job.priority, job.run_at, job.id))
        for store in self.stores:
            assert (
                store.claim(routes, limit=limit, holder=worker, lease_us=lease_us, now=self.now)
                == taken
            )
        for job in taken:
            self.jobs[job.id] = job
            self.leases.append(lease_of(job))

    @rule(worker=st.sampled_from(WORKERS), limit=st.integers(1, 9))
    def claim_of_everything(self, worker, limit) -> None:
        self.claim_and_compare(worker=worker, limit=limit, routes=ROUTES, lease_us=30 * SECOND_US)

    @rule(state=st.sampled_from(EVENTFUL), data=st.data())
    def events_happen(self, state, data) -> None:
        """Up to three jobs of a state meet an event each that such jobs answer to."""
        if state is JobState.PROCESSING:
            worker = data.draw(st.sampled_from(WORKERS))
            self.claim_and_compare(worker=worker, limit=2, routes=ROUTES, lease_us=30 * SECOND_US)
        jobs = sorted(job for job in self.jobs.values() if job.state is state)
        accepted = [EVENTS[kind] for kind in EVENTS if kind in ACCEPTS[state]]
        if not jobs or not accepted:
            return
        decisions: dict[JobId, Decision] = {}
        for _ in range(data.draw(st.integers(1, 3))):
            job = data.draw(st.sampled_from(jobs))
            event = data.draw(st.one_of(accepted))
            decision = decide(job, event, PLAN, self.now, data.draw(rolls))
            if isinstance(decision, Decision):
                decisions[job.id] = decision
        self.apply(list(decisions.values()))

    @precondition(lambda self: self.jobs)
    @rule(pick=picks, result=documents, lease_us=seconds)
    def a_worker_goes_on(self, pick, result, lease_us) -> None:
        running = [job for job in self.jobs.values() if job.state is JobState.PROCESSING]
        if not running:
            return
        job = running[pick % len(running)]
        event = Done(result, lease_until=later(self.now, lease_us))
        decision = decide(job, event, PLAN, self.now, 0.5)
        assert isinstance(decision, Decision)
        self.apply([decision])

    @precondition(lambda self: self.stale)
    @rule(pick=picks)
    def an_old_decision_comes_again(self, pick) -> None:
        decision = self.stale[pick % len(self.stale)]
        for store in self.stores:
            assert store.apply([decision]) == set()

    @precondition(lambda self: self.leases)
    @rule(pick=picks, worker=st.sampled_from(WORKERS), lease_us=seconds)
    def renew(self, pick, worker, lease_us) -> None:
        asked = {self.leases[pick % len(self.leases)], self.leases[-1]}
        held = {
            lease
            for lease in asked
            if (job := self.jobs[lease.job_id]).state is JobState.PROCESSING
            and job.token == lease.token
            and job.holder == worker
        }
        for store in self.stores:
            assert store.renew(asked, holder=worker, lease_us=lease_us, now=self.now) == held
        for lease in held:
            job = self.jobs[lease.job_id]
            self.jobs[job.id] = job._replace(lease_until=later(self.now, lease_us))

    @rule(queue=st.sampled_from(QUEUES))
    def pause_or_resume(self, queue) -> None:
        for store in self.stores:
            if queue in self.paused:
                assert store.resume_queue(queue)
            else:
                assert store.pause_queue(queue, by="ada", now=self.now)
        self.paused ^= {queue}

    @rule(limit=st.integers(1, 20))
    def sweep(self, limit) -> None:
        now = self.now
        jobs = self.jobs.values()
        expired = [
            ((job.lease_until, job.id), job)
            for job in jobs
            if job.lease_until is not None and job.lease_until < now
        ]
        overdue = [
            ((job.deadline_at, job.id), job)
            for job in jobs
            if job.state in ACTIVE and job.deadline_at is not None and job.deadline_at < now
        ]
        unanswered = [
            ((job.run_at, job.id), job)
            for job in jobs
            if job.state is JobState.WAITING and job.run_at <= now
        ]
        for store in self.stores:
            for sweep, expected in (
                (store.expired, expired),
                (store.overdue, overdue),
                (store.unanswered, unanswered),
            ):
                found = sweep(now=now, after=None, limit=limit)
                assert found == [job for _, job in sorted(expected)][:limit]

    def apply(self, decisions: list[Decision]) -> None:
        for store in self.stores:
            assert store.apply(decisions) == {decision.job_id for decision in decisions}
        for decision in decisions:
            job = self.jobs[decision.job_id]
            after = evolve(job, decision)
            self.jobs[job.id] = after
            past = [line.entry for line in self.ledgers[job.id]]
            self.letters[job.id] = letter_after(self.letters.get(job.id), job, decision, past)
            self.ledgers[job.id].append(
                LedgerEntry(job.id, after.revision, after.state, decision.entry)
            )
            if decision.checkpoint is not None:
                place = (job.id, after.run, decision.entry.stage)
                self.checkpoints[place] = decision.checkpoint
            if after.state is JobState.PROCESSING:
                self.leases.append(lease_of(after))
            self.stale.append(decision)

    @invariant()
    def rows_equal_the_model(self) -> None:
        expected = sorted(self.jobs.values(), reverse=True)
        due_at = [
            job.run_at
            for job in self.jobs.values()
            if job.state is JobState.QUEUED and job.queue not in self.paused
        ]
        for store in self.stores:
            assert store.find(JobFilter(), before=None, limit=1000) == expected
            assert store.next_due(ROUTES) == min(due_at, default=None)

    @invariant()
    def letters_equal_the_model(self) -> None:
        kept = sorted(letter for letter in self.letters.values() if letter is not None)
        for store in self.stores:
            found = store.letters.find(LetterFilter(), before=None, limit=1000)
            assert sorted(found) == kept

    @invariant()
    def histories_equal_the_model(self) -> None:
        kept = {
            (job_id, stage): result
            for (job_id, run, stage), result in self.checkpoints.items()
            if self.jobs[job_id].run == run
        }
        for store in self.stores:
            found = store.checkpoints(list(self.jobs))
            assert {(item.job_id, item.stage): item.result for item in found} == kept
            for job_id, entries in self.ledgers.items():
                assert store.ledger(job_id) == entries


# A pass takes seconds; a failure is worth minutes of shrinking.
shrinking_takes_long = pytest.mark.timeout(400)


def _run(machine: type[StoreMachine], *, examples: int) -> None:
    test_case = machine.TestCase
    test_case.settings = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    test_case().runTest()


def _memory() -> Store:
    store = SqliteStore("sqlite://:memory:")
    store.migrate()
    return store


@pytest.fixture
def emptied_postgres(postgres_url: str) -> Callable[[], Store]:
    def open_() -> Store:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for table in TABLES:
                connection.execute(f"delete from holdfast.{table}")
        return PostgresStore(postgres_url, size=1)

    return open_


@shrinking_takes_long
@pytest.mark.parametrize("examples", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_sqlite_does_what_the_model_says(examples: int) -> None:
    class Machine(StoreMachine):
        open_stores = staticmethod(lambda: [_memory()])

    _run(Machine, examples=examples)


@shrinking_takes_long
@pytest.mark.parametrize("examples", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_both_databases_do_what_the_model_says(
    emptied_postgres: Callable[[], Store], examples: int
) -> None:
    class Machine(StoreMachine):
        open_stores = staticmethod(lambda: [_memory(), emptied_postgres()])

    _run(Machine, examples=examples)
