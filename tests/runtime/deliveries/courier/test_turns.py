"""What a courier does with its turns: how much at a time, held by whom, and beside whom."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

from holdfast import Holdfast, JobState, Pipeline, Wait
from holdfast.classify import ProviderError, Verdict
from holdfast.core.delivery.delivery import Delivery, intent
from holdfast.core.delivery.event import Accepted, CourierLost
from holdfast.core.delivery.lifecycle import decide_delivery
from holdfast.core.job.event import Suspended
from holdfast.core.values.instant import Instant
from holdfast.deliveries import DeliveryState, Notify, Promise, Recipient
from holdfast.runtime.deliveries.courier import MAX_STUCK
from holdfast.runtime.lanes import child
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing import ManualClock
from holdfast.workers import WorkerOptions
from tests.runtime.crew import Crew
from tests.runtime.deliveries.courier.desk import OPTIONS, Clerk, Desk, Meddled, deliver, read


def test_no_more_calls_are_under_way_than_there_are_places(open_for):
    clerk = Clerk()
    app = open_for(clerk)
    deliver(app, 7)
    desk = Desk(app)

    ran = []
    for _ in range(4):
        desk.tick()
        desk.tick()
        ran.append(desk.run())

    assert ran == [3, 3, 1, 0]
    assert len(clerk.sent) == 7


def test_that_a_send_begins_is_stored_before_anything_is_handed_over(open_for, clock):
    app = open_for(Clerk())
    (made,) = deliver(app)
    desk = Desk(app)
    desk.tick()

    begun = read(app, made)
    assert (begun.state, begun.began_at, begun.attempts) == (
        DeliveryState.SENDING,
        clock.now(),
        1,
    )
    assert (begun.holder, begun.notified_at) == ("courier-1", None)


def test_nothing_is_sent_whose_call_may_outlast_the_lease(open_for, clock):
    clerk = Clerk()
    app = open_for(clerk)
    (made,) = deliver(app)
    desk = Desk(app)
    desk.tick()
    clock.advance(OPTIONS.lease - OPTIONS.timeout + 0.000001)
    desk.run()

    assert clerk.sent == []
    assert read(app, made).state is DeliveryState.INTENT


def test_what_has_just_time_enough_is_sent(open_for, clock):
    clerk = Clerk()
    app = open_for(clerk)
    deliver(app)
    desk = Desk(app)
    desk.tick()
    clock.advance(OPTIONS.lease - OPTIONS.timeout)
    desk.run()

    assert len(clerk.sent) == 1


def test_what_could_not_be_written_as_begun_is_not_sent(open_for):
    clerk = Clerk()
    app = open_for(clerk)
    moved, plain = deliver(app, 2)
    desk = Desk(app, store=Meddled(app.store, lambda: raise_revision(app, moved)))
    desk.tick()
    desk.run()

    assert clerk.sent == [plain.recipient]
    assert read(app, moved).attempts == 0


def raise_revision(app: Holdfast, delivery: Delivery) -> None:
    """Change a delivery as somebody else would."""
    table = "holdfast_delivery" if app.store.url.startswith("sqlite") else "holdfast.delivery"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set revision = revision + 1 where id = '{delivery.id}'")


def test_a_draining_courier_sets_out_with_nothing_more(open_for):
    clerk = Clerk()
    app = open_for(clerk)
    (made,) = deliver(app)
    desk = Desk(app)
    desk.courier.drain()
    desk.tick()

    assert desk.run() == 0
    assert read(app, made).holder is None


def test_a_job_that_is_about_to_wait_is_told_once_it_does(open_for, clock):
    app = open_for(Clerk())
    app.add(_telling())
    job = app.submit("telling")
    crew = Crew(app)
    crew.claim()
    made = intent(
        "0190163d-8694-739b-aea5-966c26f8ad90",
        subject="s",
        recipient="a@example.test",
        version=1,
        provider="mail",
        message='{"to":"a@example.test"}',
        now=clock.now(),
        job_id=job.id,
        stage="tell",
    )
    app.store.deliveries.ensure([made])
    desk = Desk(app)
    desk.tick()
    desk.run()
    desk.tick()
    sent = read(app, made)
    crew.lane.run()
    crew.report()
    assert job.get().state is JobState.WAITING
    desk.tick()

    assert (sent.state, sent.job_told) == (DeliveryState.SENT, False)
    assert job.get().state is JobState.COMPLETE
    assert read(app, made).job_told


def _telling() -> Pipeline:
    pipeline = Pipeline("telling")

    @pipeline.stage
    def tell(job) -> Wait:
        return Wait(timeout=60)

    return pipeline


def test_providers_do_not_take_each_others_places(open_for):
    slow, quick = Clerk(), Clerk(name="post")
    app = open_for(slow, quick)
    deliver(app, 9, provider="mail")
    desk = Desk(app)
    desk.tick()
    del desk.waiting[:]
    deliver(app, 2, provider="post", version=2)
    desk.tick()
    desk.run()

    assert (len(slow.sent), len(quick.sent)) == (0, 2)


def test_calls_that_hang_beyond_their_lease_free_their_places_up_to_a_limit(open_for, clock):
    app = open_for(Clerk(Promise()))
    deliver(app, 100)
    desk = Desk(app)
    hanging = 0
    for _ in range(10):
        desk.tick()
        hanging += len(desk.waiting)
        del desk.waiting[:]
        clock.advance(31)

    assert hanging == MAX_STUCK * OPTIONS.concurrency
    assert len(desk.courier) == hanging


def test_what_belongs_to_a_provider_that_is_not_known_here_is_left_alone(open_for, clock):
    app = open_for(Clerk(name="post"))
    (made,) = deliver(app)
    other = Desk(open_for(Clerk()))
    other.tick()

    assert other.waiting == []
    assert read(app, made) == made


def test_leases_are_not_judged_right_after_the_clock_was_set(database_url, clock):
    class Jumpy(ManualClock):
        steady = False

        def steady_for(self, span_us: int) -> bool:
            return self.steady

    jumpy = Jumpy()
    with Holdfast(database_url, providers=[Clerk()], courier=OPTIONS, clock=jumpy) as app:
        (made,) = deliver(app)
        desk = Desk(app)
        desk.tick()
        jumpy.advance(31)
        desk.tick()
        assert read(app, made).holder == "courier-1"
        jumpy.steady = True
        desk.tick()

        assert read(app, made).error_class == "WORKER_LOST"


def test_what_was_accepted_is_marked_although_others_have_taken_it_over(open_for, clock):
    app = open_for(Clerk())
    (made,) = deliver(app)
    desk = Desk(app)
    desk.tick()
    begun = read(app, made)
    terms = next(iter(app.dispatch.providers)).terms
    clock.advance(31)
    lost = decide_delivery(begun, CourierLost(), terms, clock.now(), 0.5)
    assert isinstance(lost, Delivery)
    assert app.store.deliveries.apply([lost])
    bound = app.dispatch.providers.chosen(None)
    assert desk.courier._sender.record(begun, Accepted("m-9"), bound)

    marked = read(app, made)
    assert (marked.state, marked.notification_id) == (DeliveryState.SENT, "m-9")


def test_what_a_lost_courier_reports_counts_for_nothing_unless_it_is_a_fact(open_for, clock):
    clerk = Clerk()
    clerk.raises = ProviderError(Verdict("INVALID", retryable=False), "no")
    app = open_for(clerk)
    (made,) = deliver(app)
    desk, other = Desk(app), Desk(app)
    desk.tick()
    clock.advance(15)
    errands = list(desk.waiting)
    clock.advance(16)
    other.tick()
    before = read(app, made)
    for errand in errands:
        errand()

    assert clerk.sent == [], "its lease is over, so that it does not even send"
    assert read(app, made) == before


def test_a_mark_is_written_once_the_database_is_back(tmp_path: Path, clock: ManualClock):
    """The provider has accepted, and somebody else sits on the database at that moment."""
    path = tmp_path / "holdfast.db"
    clerk = Clerk(Promise())
    with Holdfast(f"sqlite:///{path}", providers=[clerk], courier=OPTIONS, clock=clock) as app:
        (made,) = deliver(app)
        desk = Desk(app)
        desk.tick()
        store = SqliteStore(f"sqlite:///{path}", write_timeout_s=0.1)
        store._database._open().execute("pragma busy_timeout = 50")
        desk.courier._sender._store = store
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("begin immediate")
            errand = threading.Thread(target=desk.run)
            errand.start()
            until = time.monotonic() + 10
            while not clerk.sent and time.monotonic() < until:
                time.sleep(0.01)
            assert errand.is_alive(), "it is accepted, and cannot be marked yet"
            writer.execute("commit")
            errand.join(10)

        assert read(app, made).state is DeliveryState.SENT
        store.close()


def test_a_worker_with_providers_and_no_pipelines_carries_deliveries(database_url: str):
    clerk = Clerk(Promise())
    with Holdfast(database_url, providers=[clerk], courier=OPTIONS) as app:
        worker = app.worker(options=WorkerOptions(poll=0.05, sweep=0.05, lease=5, grace=5))
        worker.start()
        made = deliver(app, 5)
        until = time.monotonic() + 20
        while len(clerk.sent) < 5 and time.monotonic() < until:
            time.sleep(0.02)
        assert worker.drain() == 0

        assert sorted(clerk.sent) == sorted(delivery.recipient for delivery in made)
        assert {read(app, each).state for each in made} == {DeliveryState.SENT}


def test_what_a_stage_in_a_child_process_asks_for_reaches_the_worker():
    notify = Notify(
        subject="s",
        recipients=["a@x.test", Recipient("b@x.test", required=False, message={"n": 1})],
        message={"text": 'it\'s "odd"'},
    )
    event = Suspended(Instant(5), (), notify.asked(3))
    frame = json.dumps(child._reply_of(event)).encode()

    assert child.event_from(frame) == event
    bare = Suspended(None)
    assert child.event_from(json.dumps(child._reply_of(bare)).encode()) == bare
