"""Connections that break in the middle of a statement, lose its reply, or just fall silent."""

import signal
import time
from collections.abc import Iterator

import psycopg
import pytest

from holdfast import Holdfast, Submit
from holdfast.errors import StoreUnavailable
from holdfast.store.postgres.connection import SILENCE_S, Connections
from holdfast.testing.servers.proxy import PostgresProxy
from tests.crash import program
from tests.crash.fleet import Fleet, eventually
from tests.crash.sampling import slow
from tests.crash.verdict import (
    assert_ledgers_agree,
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)

ANY_COMMAND = ("SELECT", "INSERT", "UPDATE")
OF_A_RUNNING_WORKER = (
    "claim",
    "complete",
    "apply",
    "renew",
    "record_worker",
    "read_clock",
    "next_due",
    "expired",
    "overdue",
    "unanswered",
)
LEASE_S = 3.0
"""Long enough that nothing in these tests can be mended by the end of a lease unseen."""
NEXT_POLL_IS_FAR_S = 60.0
"""Less than a lease and a poll where nothing may wait for them, and more than any machine needs."""

both_outcomes = pytest.mark.parametrize(
    "arrives", [True, False], ids=["the server did it", "the server never got it"]
)


@pytest.fixture
def proxy(postgres_fleet: Fleet) -> Iterator[PostgresProxy]:
    with PostgresProxy(postgres_fleet.url) as made:
        yield made


@both_outcomes
def test_a_worker_that_loses_its_connection_at_any_statement_repeats_and_spends_nothing(
    postgres_fleet: Fleet, proxy: PostgresProxy, *, arrives: bool
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(url=proxy.url, lease=LEASE_S, only="steps,noop")
    worker.said("started")
    for statement in OF_A_RUNNING_WORKER:
        lost = proxy.drop_commit_reply(
            tags=ANY_COMMAND, containing=f"-- {statement}:", forward=arrives
        )
        pause = 0.5 if statement == "renew" else 0.02
        steps, others = fleet.submit("steps", 2, pause=pause), fleet.submit("noop", 3)
        assert lost.wait(), f"{statement} was not lost"
        fleet.finished([*steps, *others], within_s=10)
        assert_steps_done(fleet, steps)
        assert_no_attempt_spent(fleet, [*steps, *others])
        assert_ledgers_agree(fleet, [*steps, *others])
    assert_no_stage_repeated(fleet)
    assert worker.is_alive
    assert not worker.events("dropped")
    fleet.sound()


@both_outcomes
def test_jobs_of_a_claim_whose_reply_was_lost_are_run_by_the_worker_that_holds_them(
    postgres_fleet: Fleet, proxy: PostgresProxy, *, arrives: bool
) -> None:
    fleet = postgres_fleet
    # It polls so rarely that the next claim that finds a job is the one that these jobs cause.
    worker = fleet.start(url=proxy.url, lease=30.0, poll=60.0, only="steps")
    fleet.finished(fleet.submit("steps", pause=0.02))
    # The claim that follows the first job, and finds nothing, may come only now.
    tags = ("SELECT 3", "UPDATE 3") if arrives else ANY_COMMAND
    lost = proxy.drop_commit_reply(tags=tags, containing="-- claim:", forward=arrives)
    jobs = [item.job_id for item in fleet.app.submit_many("steps", _submits(3))]
    assert lost.wait()

    fleet.finished(jobs, within_s=10)
    assert sum(line["jobs"] for line in worker.events("adopted")) == (3 if arrives else 0)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)


def _submits(count: int) -> list[Submit]:
    return [Submit(payload={"n": number}) for number in range(1, count + 1)]


@both_outcomes
@pytest.mark.parametrize("statement", ["checkpoints", slow("load_plan")])
def test_a_worker_that_loses_its_connection_between_claim_and_start_runs_what_it_claimed(
    postgres_fleet: Fleet, proxy: PostgresProxy, statement: str, *, arrives: bool
) -> None:
    fleet = postgres_fleet
    jobs = fleet.submit("steps", 2, pause=0.3)
    first = fleet.start(only="steps")
    eventually(lambda: fleet.executions(stage="one"), what="the first stage runs")
    first.signal(signal.SIGTERM)
    assert first.ended() == 0
    # Both tries of the store are lost, so that the worker itself has to deal with it.
    lost = proxy.drop_commit_reply(
        tags=ANY_COMMAND, containing=f"-- {statement}:", forward=arrives, times=2
    )
    worker = fleet.start(url=proxy.url, lease=30.0, only="steps")
    assert lost.wait()

    fleet.finished(jobs, within_s=10)
    assert_steps_done(fleet, jobs)
    assert_no_attempt_spent(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert worker.is_alive


@pytest.mark.parametrize("times", [slow(1), 2, slow(3)])
@both_outcomes
def test_an_outcome_whose_reply_is_lost_again_and_again_is_applied_once(
    postgres_fleet: Fleet, proxy: PostgresProxy, times: int, *, arrives: bool
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(url=proxy.url, lease=30.0, only="steps")
    worker.said("started")
    traps = [
        proxy.drop_commit_reply(
            tags=ANY_COMMAND, containing=f"-- {statement}:", forward=arrives, times=times
        )
        for statement in ("apply", "complete")
    ]
    jobs = fleet.submit("steps", pause=0.02)
    fleet.finished(jobs, within_s=10)

    assert all(trap.wait() for trap in traps)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    assert_ledgers_agree(fleet, jobs)
    assert not worker.events("dropped")


@pytest.mark.slow
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_links_that_break_all_at_once_and_often_lose_and_repeat_nothing(
    postgres_fleet: Fleet, proxy: PostgresProxy, *, reset: bool
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(url=proxy.url, lease=LEASE_S, only="steps,noop", concurrency=4)
    worker.said("started")
    jobs = fleet.submit("steps", 30, pause=0.05)
    for _ in range(15):
        proxy.rst() if reset else proxy.cut()
        time.sleep(0.1)  # the pace of the breaks, not a wait for anything

    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    assert_ledgers_agree(fleet, jobs)
    assert worker.is_alive
    fleet.sound()


def test_a_reply_cut_in_the_middle_counts_as_lost(
    postgres_fleet: Fleet, proxy: PostgresProxy
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(url=proxy.url, lease=LEASE_S, only="steps")
    worker.said("started")
    for size_bytes in (1, 7, 64, 500, 2_000):
        jobs = fleet.submit("steps", 2)
        proxy.cut_after(size_bytes)
        fleet.finished(jobs, within_s=10)
        assert_steps_done(fleet, jobs)
        assert_no_attempt_spent(fleet, jobs)
    assert_no_stage_repeated(fleet)


@pytest.mark.timeout(180)
def test_a_job_announced_while_nobody_could_hear_it_does_not_wait_for_the_next_poll(
    postgres_fleet: Fleet, proxy: PostgresProxy
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(url=proxy.url, lease=120.0, poll=600.0, sweep=600.0, only="noop")
    fleet.finished(fleet.submit("noop"), within_s=NEXT_POLL_IS_FAR_S)
    proxy.refuse()
    missed = fleet.submit("noop", 3)
    proxy.pass_through()

    fleet.finished(missed, within_s=NEXT_POLL_IS_FAR_S)
    assert_no_attempt_spent(fleet, missed)
    assert worker.is_alive


class TestSubmission:
    @pytest.fixture
    def client(self, proxy: PostgresProxy) -> Iterator[Holdfast]:
        with Holdfast(proxy.url, pipelines=program.PIPELINES.values()) as app:
            app.submit("noop", {"first": True})  # opens the store
            yield app

    def _count(self, fleet: Fleet) -> int:
        with psycopg.connect(fleet.url) as connection:
            [count] = connection.execute("select count(*) from holdfast.job").fetchone()
        return count - 1

    @both_outcomes
    @pytest.mark.parametrize("key", [None, "order-1"])
    def test_a_submission_whose_reply_was_lost_is_made_once(
        self,
        postgres_fleet: Fleet,
        proxy: PostgresProxy,
        client: Holdfast,
        key: str | None,
        *,
        arrives: bool,
    ) -> None:
        lost = proxy.drop_commit_reply(tags=ANY_COMMAND, containing="-- insert_", forward=arrives)
        handle = client.submit("noop", {"n": 1}, key=key)
        assert lost.is_spent
        assert handle.created
        assert handle.get().payload == {"n": 1}
        assert self._count(postgres_fleet) == 1

    @both_outcomes
    def test_a_bulk_submission_whose_reply_was_lost_is_made_once(
        self, postgres_fleet: Fleet, proxy: PostgresProxy, client: Holdfast, *, arrives: bool
    ) -> None:
        client.submit("noop", {"n": 0}, key="known")
        lost = proxy.drop_commit_reply(tags=("COMMIT", *ANY_COMMAND), forward=arrives)
        made = client.submit_many(
            "noop",
            [Submit(payload={"n": 0}, key="known")]
            + [Submit(payload={"n": n}, key=f"k{n}") for n in range(20)],
        )
        assert lost.is_spent
        assert [item.created for item in made] == [False] + [True] * 20
        assert len({item.job_id for item in made}) == 21
        assert self._count(postgres_fleet) == 21

    @both_outcomes
    def test_a_submission_that_could_not_be_confirmed_may_be_repeated_with_its_key(
        self, postgres_fleet: Fleet, proxy: PostgresProxy, client: Holdfast, *, arrives: bool
    ) -> None:
        proxy.drop_commit_reply(tags=ANY_COMMAND, containing="-- insert_", forward=arrives, times=2)
        with pytest.raises(StoreUnavailable):
            client.submit("noop", {"n": 1}, key="order-1")
        again = client.submit("noop", {"n": 1}, key="order-1")
        assert again.created is not arrives
        assert again.get().payload == {"n": 1}
        assert self._count(postgres_fleet) == 1


class TestSilence:
    def test_a_connection_that_falls_silent_is_given_up_in_bounded_time(
        self, postgres_fleet: Fleet, proxy: PostgresProxy
    ) -> None:
        connections = Connections(proxy.url, name="test", size=1, statement_timeout_s=0.5)
        with connections.borrowed() as connection:
            connection.execute("select 1")
        proxy.black_hole()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable), connections.borrowed() as connection:
            connection.execute("select 1")
        assert 0.5 + SILENCE_S <= time.monotonic() - began < 10
        proxy.pass_through()
        with connections.borrowed() as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        connections.close()

    @pytest.mark.slow
    @pytest.mark.timeout(180)
    def test_a_worker_notices_silence_and_goes_on_when_it_ends(
        self, postgres_fleet: Fleet, proxy: PostgresProxy
    ) -> None:
        fleet = postgres_fleet
        worker = fleet.start(url=proxy.url, lease=5.0, only="steps,noop")
        before = fleet.submit("steps", 3, pause=0.02)
        fleet.finished(before)
        proxy.black_hole()
        during = fleet.submit("steps", 3, pause=0.02)
        eventually(
            lambda: any("keeper failed" in line["text"] for line in worker.log()),
            what="the silence is noticed",
            within_s=60,
        )
        proxy.pass_through()
        fleet.finished(during, within_s=60)
        assert worker.is_alive
        assert_steps_done(fleet, during)
        fleet.sound()

    @pytest.mark.slow
    @pytest.mark.timeout(180)
    def test_a_worker_told_to_end_during_silence_ends(
        self, postgres_fleet: Fleet, proxy: PostgresProxy
    ) -> None:
        fleet = postgres_fleet
        [job] = fleet.submit("steps", pause=30.0)
        worker = fleet.start(url=proxy.url, lease=5.0, grace=1.0, only="steps,noop")
        eventually(lambda: fleet.executions(job), what="the handler runs")
        proxy.black_hole()
        worker.signal(signal.SIGTERM)
        assert worker.ended(within_s=20) == 1
        proxy.pass_through()
        other = fleet.start()
        eventually(lambda: len(fleet.executions(job)) == 2, what="another worker runs it")
        assert fleet.executions(job)[1].pid == other.pid
