"""What an observer gets between two marks."""

from holdfast.core.job.event import CancelRequested, Done, Failed
from holdfast.core.values.ids import IdSequence, JobId
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.tail import Entered, Mark, Whose
from holdfast.testing.conformance.retention.samples import KEEP_S, complete, purged
from holdfast.testing.conformance.samples import (
    NOW,
    PASSING_FAILURE,
    WORKER,
    after,
    after_event,
    claim,
    new_job,
    next_id,
    started,
    submitted,
)


def mark(store: Store, now: Instant = NOW) -> Mark:
    """A mark of what the store shows at `now`."""
    return store.tail.mark(lambda: now)


def new_jobs(store: Store, since: Mark, until: Mark) -> list[JobId]:
    """Return the ids of the jobs stored between the marks."""
    return [job.job_id for job in store.tail.jobs(since, until, after=None, limit=100)]


def entered(store: Store, since: Mark, until: Mark) -> list[tuple[JobId, int]]:
    """Job and revision of the entries made between the marks."""
    found = store.tail.entries(since, until, after=None, limit=100)
    return [(line.job_id, line.revision) for _, line in found]


class TailConformance:
    """What `tail` promises."""

    def test_nothing_happens_between_a_mark_and_itself(self, store: Store) -> None:
        after_event(store, started(store), Done("1"))
        here = mark(store)

        assert new_jobs(store, here, here) == []
        assert entered(store, here, here) == []
        assert store.tail.actions(here, here, limit=10) == []

    def test_new_jobs_are_told_between_the_marks_around_them_only(self, store: Store) -> None:
        submitted(store)
        first = mark(store)
        ids = submitted(store, 2, owner="ada", queue="slow")
        second = mark(store, after(1))
        later = submitted(store)
        third = mark(store, after(2))

        (job, _) = store.tail.jobs(first, second, after=None, limit=10)

        assert new_jobs(store, first, second) == ids
        assert (job.whose, job.created_at) == (Whose("letters", "slow", "ada"), NOW)
        assert (job.stage, job.revision) == ("draft", 0)
        assert new_jobs(store, second, third) == later
        assert new_jobs(store, first, third) == [*ids, *later]

    def test_a_job_that_has_moved_on_is_still_a_new_job(self, store: Store) -> None:
        before = mark(store)
        job = started(store)
        after_event(store, job, CancelRequested("ada", None))
        until = mark(store, after(1))

        (seen,) = store.tail.jobs(before, until, after=None, limit=10)

        assert (seen.job_id, seen.revision) == (job.id, 2)

    def test_a_job_that_moves_is_not_a_new_job(self, store: Store) -> None:
        job = started(store)
        before = mark(store)
        after_event(store, job, Done("1"))

        assert new_jobs(store, before, mark(store, after(1))) == []

    def test_entries_are_told_between_the_marks_around_them_only(self, store: Store) -> None:
        one, other = started(store), started(store)
        first = mark(store)
        after_event(store, one, Failed(PASSING_FAILURE), now=after(1))
        second = mark(store, after(1))
        moved = after_event(store, other, Done("1"), now=after(2))
        third = mark(store, after(2))

        (found,) = store.tail.entries(first, second, after=None, limit=10)

        assert found.line == store.ledger(one.id)[0]
        assert entered(store, second, third) == [(other.id, moved.revision)]

    def test_entries_and_jobs_come_in_pages(self, store: Store) -> None:
        before = mark(store)
        jobs = [started(store) for _ in range(5)]
        for job in jobs:
            after_event(store, job, Done("1"))
        until = mark(store, after(1))

        ids: list[JobId] = []
        while page := store.tail.jobs(before, until, after=ids[-1] if ids else None, limit=2):
            ids += [job.job_id for job in page]
        found: list[Entered] = []
        place: tuple[int, JobId, int] | None = None
        while lines := store.tail.entries(before, until, after=place, limit=2):
            found += lines
            number, line = lines[-1]
            place = (number, line.job_id, line.revision)

        assert ids == [job.id for job in jobs]
        assert sorted(line.job_id for _, line in found) == sorted(ids)

    def test_an_entry_is_told_however_old_its_time(self, store: Store) -> None:
        slow, quick = started(store), started(store)
        after_event(store, quick, Done("1"), now=after(100))
        before = mark(store, after(100))
        after_event(store, slow, Done("1"), now=after(1))

        assert [job_id for job_id, _ in entered(store, before, mark(store, after(101)))] == [
            slow.id
        ]

    def test_a_job_is_told_though_its_id_is_older_than_others(self, store: Store) -> None:
        early = new_job()
        submitted(store, 3)
        before = mark(store)
        store.insert([early])

        assert new_jobs(store, before, mark(store)) == [early.id]

    def test_what_happens_after_all_was_removed_is_told(self, store: Store) -> None:
        job = complete(store)
        before = mark(store)
        assert purged(store, now=after(KEEP_S)) == {"jobs": 1}
        assert store.get([job.id]) == {}
        later = after(2 * KEEP_S)
        fresh = new_job(id=IdSequence().next(now=later, chance=1), created_at=later, run_at=later)
        store.insert([fresh])
        (begun,) = claim(store, now=later)
        after_event(store, begun, Done("1"), now=later)
        until = mark(store, later)

        assert new_jobs(store, before, until) == [fresh.id]
        assert entered(store, before, until) == [(fresh.id, 2)]

    def test_attempts_under_way_are_told_by_when_they_began(self, store: Store) -> None:
        started(store)
        job = started(store, now=after(5), owner="ada")
        ended = started(store, now=after(6))
        after_event(store, ended, CancelRequested("ada", None), now=after(6))

        (begun,) = store.tail.begun(since=after(5))

        assert begun[:5] == (job.id, Whose("letters", "default", "ada"), "draft", 1, WORKER)
        assert (begun.at, begun.revision) == (after(5), 1)

    def test_moves_of_breakers_and_queues_are_told_and_other_actions_are_not(
        self, store: Store
    ) -> None:
        before = mark(store)
        upstream = store.upstreams.get("gateway")
        opened = AuditEntry(
            NOW, "holdfast", "opened", "upstream", "gateway", None, detail={"from": "x"}
        )
        other = AuditEntry(NOW, "ada", "resolved", "dead_letter", "1", None, detail=None)
        store.upstreams.save(upstream, now=NOW, audit=[other, opened])
        until = mark(store)

        (action,) = store.tail.actions(before, until, limit=10)

        assert action == opened
        assert store.tail.actions(until, mark(store), limit=10) == []

    def test_where_jobs_belong_is_told_of_those_that_are_there(self, store: Store) -> None:
        (job,) = submitted(store, owner="ada")

        assert store.tail.whose([job, next_id()]) == {job: Whose("letters", "default", "ada")}
        assert store.tail.whose([]) == {}
