"""Replays: a list that is frozen, and letters that leave it once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from holdfast.core.dead_letter.replay import Counts, ItemState, Replay, ReplayState
from holdfast.core.job.event import CancelRequested, Done, Failed, RetryRequested
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.instant import SECOND_US
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.replays import CHUNK, HANDED_OVER, SUBJECT, Frozen, Mark
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PLAN,
    after,
    after_event,
    claim,
    entries,
    next_id,
    started,
)

ASKED = AuditEntry(NOW, "ada", "start", SUBJECT, "r", "it is back")
_PENDING, _SENT = ItemState.PENDING, ItemState.SENT


def a_replay(**changes: Any) -> Replay:
    """A replay that is not stored yet."""
    replay = Replay(
        id=next_id(),
        name="outage",
        asked_by="ada",
        reason="it is back",
        created_at=NOW,
        updated_at=NOW,
        revision=0,
        state=ReplayState.PLANNED,
        from_start=True,
        canary=1,
        every_us=SECOND_US,
        stop_after=3,
        last_sent_at=None,
        note=None,
    )
    return replay._replace(**changes)


def frozen(store: Store, letters: int = 3, **changes: Any) -> Replay:
    """A stored replay of that many letters whose jobs are not there."""
    replay = a_replay(**changes)
    store.replays.create(
        replay, [Frozen(next_id(), number) for number in range(letters)], audit=ASKED
    )
    return replay


def sent(*positions: int) -> Mark:
    """Letters that are sent now."""
    return Mark(positions, _PENDING, _SENT, sent_at=after(1))


def failed_job(store: Store) -> Job:
    """A job that has failed for good."""
    store.save_plan(PLAN, now=NOW)
    return after_event(store, started(store), Failed(LASTING_FAILURE))


class ReplayConformance:
    """What `Store.replays` promises."""

    def test_a_replay_is_read_as_it_was_written(self, store: Store) -> None:
        replay = frozen(store)

        assert store.replays.get(replay.id) == replay
        assert store.replays.get("another") is None

    def test_the_latest_replays_come_first(self, store: Store) -> None:
        ids = [frozen(store).id for _ in range(3)]

        assert [replay.id for replay in store.replays.latest(limit=2)] == [ids[2], ids[1]]

    def test_a_page_begins_below_the_id_it_is_given(self, store: Store) -> None:
        ids = [frozen(store).id for _ in range(3)]

        assert [replay.id for replay in store.replays.latest(before=ids[1], limit=2)] == [ids[0]]

    def test_open_replays_that_were_handed_over_are_for_whoever_serves(self, store: Store) -> None:
        frozen(store)
        ids = [next_id() for _ in range(3)]
        for replay_id, state in zip(
            ids, (ReplayState.RUNNING, ReplayState.PLANNED, ReplayState.DONE), strict=True
        ):
            handed = AuditEntry(NOW, "ada", HANDED_OVER, SUBJECT, replay_id)
            replay = a_replay(id=replay_id, state=state)
            store.replays.create(replay, [Frozen("x", 0)], audit=ASKED, handed_over=handed)

        assert [replay.id for replay in store.replays.handed_over()] == ids[:2]

    def test_who_asked_is_on_record_in_the_same_commit(self, store: Store) -> None:
        frozen(store)

        assert entries(store, subject_kind=SUBJECT, subject="r") == [ASKED]

    def test_a_replay_that_is_written_again_stays_as_it_is(self, store: Store) -> None:
        replay = frozen(store)
        store.replays.create(replay._replace(name="other"), [Frozen("x", 0)], audit=ASKED)

        assert store.replays.get(replay.id) == replay
        assert len(store.replays.items(replay.id, after=0, limit=10)) == 3
        assert len(store.audit.latest(subject_kind=SUBJECT)) == 1

    def test_a_list_longer_than_a_chunk_is_kept_in_order(self, store: Store) -> None:
        replay = a_replay()
        letters = [Frozen(f"letter {number}", number) for number in range(CHUNK + 2)]
        store.replays.create(replay, letters, audit=ASKED)

        items = store.replays.items(replay.id, after=CHUNK - 1, limit=10)
        assert [(item.position, item.letter_id, item.retries) for item in items] == [
            (CHUNK, f"letter {CHUNK - 1}", CHUNK - 1),
            (CHUNK + 1, f"letter {CHUNK}", CHUNK),
            (CHUNK + 2, f"letter {CHUNK + 1}", CHUNK + 1),
        ]
        assert store.replays.counts(replay.id) == Counts(pending=CHUNK + 2)

    def test_a_letter_with_a_note_is_skipped_from_the_start(self, store: Store) -> None:
        replay = a_replay()
        store.replays.create(replay, [Frozen("not an id", 0, "it is 'resolved'")], audit=ASKED)

        (item,) = store.replays.items(replay.id, after=0, limit=10)
        assert (item.state, item.note) == (ItemState.SKIPPED, "it is 'resolved'")
        assert store.replays.counts(replay.id) == Counts(skipped=1)
        assert store.replays.seen(replay.id, _PENDING) == []

    def test_what_is_marked_is_written_with_the_replay(self, store: Store) -> None:
        replay = frozen(store)
        moved = replay._replace(
            state=ReplayState.CANARY, last_sent_at=after(1), updated_at=after(1), note="why"
        )
        skipped = Mark((2,), _PENDING, ItemState.SKIPPED, note="it is resolved")

        written = store.replays.advance(moved, marks=[sent(1), skipped], audit=[ASKED])

        assert written == moved._replace(revision=1)
        assert store.replays.get(replay.id) == written
        items = store.replays.items(replay.id, after=0, limit=10)
        assert [(item.state, item.sent_at, item.note) for item in items] == [
            (_SENT, after(1), None),
            (ItemState.SKIPPED, None, "it is resolved"),
            (_PENDING, None, None),
        ]
        assert len(store.audit.latest(subject_kind=SUBJECT)) == 2

    def test_of_two_who_read_the_same_one_is_first(self, store: Store, other_store: Store) -> None:
        replay = frozen(store)

        first = store.replays.advance(replay, marks=[sent(1)])
        second = other_store.replays.advance(replay, marks=[sent(2)], audit=[ASKED])

        assert first is not None
        assert second is None
        assert [item.position for item in _items(store, replay, _SENT)] == [1]
        assert len(store.audit.latest(subject_kind=SUBJECT)) == 1

    def test_of_many_at_once_one_is_first(self, store: Store, other_store: Store) -> None:
        replay = frozen(store, letters=8)
        stores = [store, other_store] * 4

        with ThreadPoolExecutor(8) as pool:
            written = list(
                pool.map(
                    lambda pair: pair[1].replays.advance(replay, marks=[sent(pair[0])]),
                    enumerate(stores, start=1),
                )
            )

        assert sum(each is not None for each in written) == 1
        assert len(_items(store, replay, _SENT)) == 1

    def test_a_letter_that_has_moved_on_is_not_settled(self, store: Store) -> None:
        replay = frozen(store)
        store.replays.advance(replay, marks=[sent(1)])

        store.replays.settle(replay.id, [Mark((1, 2), _SENT, ItemState.FAILED_AGAIN)])
        store.replays.settle(
            replay.id, [Mark((1,), _SENT, ItemState.SUCCEEDED), Mark((), _SENT, _SENT)]
        )
        store.replays.settle(replay.id, [])

        states = [item.state for item in store.replays.items(replay.id, after=0, limit=10)]
        assert states == [ItemState.FAILED_AGAIN, _PENDING, _PENDING]
        assert store.replays.items(replay.id, after=0, limit=1)[0].sent_at == after(1)

    def test_letters_are_counted_as_their_jobs_stand(self, store: Store) -> None:
        jobs = [failed_job(store) for _ in range(6)]
        replay = a_replay()
        letters = [*(Frozen(job.id, 0) for job in jobs), Frozen(next_id(), 0)]
        store.replays.create(replay, letters, audit=ASKED)
        store.replays.advance(replay, marks=[sent(1, 2, 3, 4, 5, 7)])
        revived = [
            after_event(store, job, RetryRequested("ada"), now=after(2)) for job in jobs[1:5]
        ]
        after_event(store, revived[0], CancelRequested("ada"), now=after(3))
        running = {job.id: job for job in claim(store, now=after(3), limit=2)}
        complete, again = (running[job.id] for job in revived[1:3])
        sending = after_event(store, complete, Done('"d"'), now=after(4))
        (sending,) = claim(store, now=after(5), limit=1)
        while sending.id != complete.id:
            (sending,) = claim(store, now=after(5), limit=1)
        after_event(store, sending, Done('"s"'), now=after(6))
        after_event(store, again, Failed(LASTING_FAILURE), now=after(6))

        assert store.replays.counts(replay.id) == Counts(
            pending=1, unsent=1, under_way=1, succeeded=1, failed_again=1, cancelled=2
        )

    def test_an_item_is_seen_with_its_job(self, store: Store) -> None:
        job = failed_job(store)
        replay = a_replay()
        store.replays.create(replay, [Frozen(job.id, 0), Frozen(next_id(), 0)], audit=ASKED)
        after_event(store, job, RetryRequested("ada"), now=after(2))

        there, gone = store.replays.seen(replay.id, _PENDING)

        assert (there.job_state, there.job_retries) == (JobState.QUEUED, 1)
        assert (gone.job_state, gone.job_retries, gone.letter_state) == (None, None, None)
        assert store.replays.seen(replay.id, _PENDING, after=1) == [gone]
        assert store.replays.seen(replay.id, _PENDING, limit=1) == [there]
        assert store.replays.seen(replay.id, _SENT) == []


def _items(store: Store, replay: Replay, state: ItemState) -> list[Any]:
    items = store.replays.items(replay.id, after=0, limit=100)
    return [item for item in items if item.state is state]
