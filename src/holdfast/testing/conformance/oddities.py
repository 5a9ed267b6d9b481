"""Text that breaks quoting, and values of unusual size, in every column."""

import json

import pytest

from holdfast.core.job.decision import Decision, Entry, Kind
from holdfast.core.job.event import Done
from holdfast.core.job.job import JobState, PlanDigest, WorkerId
from holdfast.core.job.lease import lease_of
from holdfast.core.job.lifecycle import evolve
from holdfast.core.job.plan import Plan, Route, StagePlan
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.store.contract import Checkpoint, JobFilter, LedgerEntry, Store, WorkerRow
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import (
    LEASE_US,
    NOW,
    RETRY,
    a_twin,
    after,
    after_event,
    claim,
    decided,
    new_job,
    read,
    started,
)

ODD_TEXTS = {
    "empty": "",
    "space": " ",
    "emoji": "🪝 holdfast 👩‍👩‍👧‍👦",
    "right to left": "مرحبا \u202eabc\u202c",
    "single quote": "it's",
    "double quote": 'say "hi"',
    "backslash": "C:\\new\\table\\",
    "braces": "{a,b},{}",
    "comma": ",",
    "null word": "NULL",
    "percent": "100 %s %(x)s %%",
    "colon": ":now ?1 @v $x",
    "newlines": "a\nb\r\nc\td",
    "comment": "-- drop /* table */;",
    "controls": "\x01\x1f\x7f",
    "combining": "e\u0301 \ufeff\u200b",
    "last character": "\U0010ffff",
}

odd_text = pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)

MEGABYTE = 1024 * 1024


class OddityConformance:
    """Whatever the text and however large the value, it comes back as it was."""

    @odd_text
    def test_odd_text_survives_in_every_column_of_a_new_job(self, store: Store, text: str) -> None:
        new = new_job(
            pipeline=text,
            plan=text,
            queue=text,
            owner=text,
            key=text,
            payload=text,
            fingerprint=text,
            trace=text,
            stage=text,
        )
        plain = new_job()

        assert store.insert([new]) == [None]
        assert store.insert([plain, new_job(owner=text, pipeline=text, key=text)]) == [
            None,
            a_twin(new.id, 1, text, JobState.QUEUED),
        ]
        many = [new_job(queue=text, pipeline=text, stage=text, payload=text) for _ in range(3)]
        store.insert(many)

        assert read(store, new.id) == as_stored(new)
        assert read(store, many[1].id) == as_stored(many[1])
        assert store.twins(owner=text, pipeline=text, key=text) == [
            a_twin(new.id, 1, text, JobState.QUEUED)
        ]

    @odd_text
    def test_odd_text_is_claimed_found_and_paused(self, store: Store, text: str) -> None:
        new = new_job(pipeline=text, queue=text, stage=text, owner=text, key=text)
        store.insert([new])
        route = Route(text, text, text)
        holder = WorkerId(text)

        assert store.next_due([route]) == NOW
        assert store.routes(now=NOW) == [(route, 1, NOW)]
        assert store.pause_queue(text, by=text, now=NOW) is True
        assert claim(store, routes=[route]) == []
        assert [(counts.queue, counts.paused_by) for counts in store.queues(now=NOW)] == [
            (text, text)
        ]
        store.resume_queue(text)
        (job,) = claim(store, routes=[route], holder=holder)
        assert store.held_by(holder) == [job]
        assert store.renew([lease_of(job)], holder=holder, lease_us=LEASE_US, now=NOW) == {
            lease_of(job)
        }
        wanted = JobFilter(pipeline=text, queue=text, stage=text, owner=text, key=text)
        assert store.find(wanted, before=None, limit=10) == [job]

    @odd_text
    def test_odd_text_survives_in_decisions(self, store: Store, text: str) -> None:
        job = started(store)
        entry = Entry(
            kind=Kind.ADVANCED,
            at=after(1),
            stage=text,
            attempt=1,
            holder=WorkerId(text),
            started_at=after(0),
            error_class=text,
            http_status=599,
            detail=text,
        )
        moved = decided(job, Done('"x"')).change._replace(stage=text, run_at=after(1))
        advance = Decision(job.id, job.revision, moved, entry, checkpoint=text)
        assert store.apply([advance]) == {job.id}

        assert read(store, job.id) == evolve(job, advance)
        assert store.ledger(job.id) == [LedgerEntry(job.id, 2, JobState.QUEUED, entry)]
        assert store.checkpoints([job.id]) == [Checkpoint(job.id, text, text)]

    @odd_text
    def test_odd_text_survives_in_results_and_errors(self, store: Store, text: str) -> None:
        failing, ending, expiring = (started(store, stage="send") for _ in range(3))
        complete = decided(ending, Done(text), now=after(1))
        change = complete.change._replace(
            state=JobState.FAILED, result=None, error=text, error_class=text
        )
        fail = complete._replace(
            job_id=failing.id,
            change=change,
            entry=complete.entry._replace(kind=Kind.FAILED, detail=text),
        )
        expire = fail._replace(
            job_id=expiring.id, change=change._replace(error_class="TIMEOUT", late_result=text)
        )

        assert store.apply([complete, fail, expire]) == {failing.id, ending.id, expiring.id}

        assert read(store, ending.id) == evolve(ending, complete)
        assert read(store, failing.id) == evolve(failing, fail)
        assert read(store, expiring.id) == evolve(expiring, expire)
        assert store.ledger(failing.id)[0].entry.detail == text
        wanted = JobFilter(error_class=text)
        assert [job.id for job in store.find(wanted, before=None, limit=9)] == [failing.id]

    @odd_text
    def test_odd_text_survives_in_plans_and_workers(self, store: Store, text: str) -> None:
        plan = Plan(text, (StagePlan(text, RETRY, upstream=text),))
        worker = WorkerRow(
            id=WorkerId(text),
            host=text,
            pid=1,
            started_at=NOW,
            seen_at=NOW,
            queues=json.dumps([text]),
            concurrency=1,
            state=text,
        )

        store.save_plan(plan, now=NOW)
        store.record_worker(worker)

        assert store.load_plan(text, plan.digest) == plan
        assert store.load_plan(text, PlanDigest(text + "?")) is None
        assert store.workers() == [worker]

    def test_large_documents_survive(self, store: Store) -> None:
        large = json.dumps("é\\\"'{}," * (MEGABYTE // 8), ensure_ascii=False)
        new = new_job(payload=large)
        store.insert([new, new_job(payload=large)])

        (job, _) = claim(store)
        after_event(store, job, Done(large))
        (advanced,) = claim(store)
        done = after_event(store, advanced, Done(large))

        assert job.payload == large
        assert read(store, new.id) == done
        assert done.result == large
        assert store.checkpoints([new.id]) == [Checkpoint(new.id, "draft", large)]

    def test_instants_and_counters_at_their_limits_survive(self, store: Store) -> None:
        far = new_job(run_at=FAR_FUTURE, deadline_at=FAR_FUTURE, version=2**31 - 1)
        old = new_job(run_at=0, created_at=0, deadline_at=1)

        store.insert([far, old])

        assert read(store, far.id) == as_stored(far)
        assert read(store, old.id) == as_stored(old)
        assert [job.id for job in store.overdue(now=NOW, after=None, limit=9)] == [old.id]

    def test_a_thousand_jobs_in_one_batch_survive(self, store: Store) -> None:
        jobs = [new_job(key=f"k,{number}", payload=f'"{number}"') for number in range(1000)]

        assert store.insert(jobs) == [None] * 1000
        assert store.get([job.id for job in jobs]) == {job.id: as_stored(job) for job in jobs}
