"""What needs a person: one ranked list, and nothing missing from it."""

import json
from contextlib import closing

import pytest

from holdfast import Breaker, GiveUp, Holdfast, Pipeline, Upstream
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.upstream.breaker import Observed, decide_breaker
from holdfast.core.upstream.upstream import FailedCall
from holdfast.core.values.failure import Category
from holdfast.core.values.instant import Instant
from holdfast.deliveries import Notify
from holdfast.engine.attention import Kind, Urgency
from holdfast.engine.attention.leftovers import MAX_CAUSES, letters
from holdfast.store.contract import WorkerRow
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.testing import ManualClock, drain
from holdfast.views.dead_letter import advice_of
from holdfast.views.explain.advice import BY_CLASS, IN_DOUBT, Mover
from tests.engine.mailbox import NEITHER, OPTIONS, Mailbox

POLICY = Breaker(consecutive=3, cooldown=30)
NOW = Instant(1_800_000_000_000_000)


class Place:
    """An application with one pipeline that calls a gateway, and a mailbox."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock()
        self.mailbox = Mailbox(self.clock, NEITHER)
        self.down = False
        self.error = "GATEWAY_DOWN"
        made = Pipeline("p", queue="work")

        @made.stage(calls=Upstream("gateway", breaker=POLICY))
        def convert(job) -> int:
            if self.down:
                raise GiveUp(self.error, "no answer")
            return 1

        self.app = Holdfast(
            url, pipelines=[made], providers=[self.mailbox], courier=OPTIONS, clock=self.clock
        )

    def kinds(self) -> list[Kind]:
        return [each.kind for each in self.app.attention()]

    def only(self):
        (found,) = self.app.attention()
        return found

    def worker(self, worker_id: str = "w1", **changes: object) -> WorkerId:
        now = self.clock.now()
        row = WorkerRow(WorkerId(worker_id), "h", 1, now, now, '["work"]', 8, "running")
        self.app.store.record_worker(row._replace(**changes))
        return row.id

    def dead(self, count: int = 1) -> None:
        self.down = True
        for n in range(count):
            self.app.submit("p", {"n": n}, key=f"{self.error}-{n}")
        drain(self.app)
        self.down = False

    def open_breaker(self) -> None:
        rows, now = self.app.store.upstreams, self.clock.now()
        state = rows.get("gateway")
        decided = decide_breaker(state, Observed("w", state.generation, ((2, 3),)), POLICY, now)
        rows.save(decided, now=now)


@pytest.fixture
def place(database_url: str):
    made = Place(database_url)
    yield made
    made.app.close()


def test_where_all_is_well_nobody_is_needed(place: Place):
    place.worker()
    place.app.submit("p")
    place.app.submit("p", delay=60)

    assert place.app.attention() == []


def test_due_jobs_that_nobody_serves_are_critical(place: Place):
    place.app.submit("p")

    found = place.only()

    assert (found.kind, found.urgency, found.count) == (Kind.NO_WORKER, Urgency.CRITICAL, 1)
    assert found.sentence == (
        "1 job of pipeline p, stage convert, queue work, is due, and nobody runs it. "
        "No live worker serves queue work."
    )
    assert found.whose is Mover.OPERATOR
    assert found.action.command == "holdfast -A module:app worker --queues work"


def test_due_jobs_whose_stage_no_worker_knows_are_critical(place: Place):
    place.worker(stages='["p/other"]')
    place.app.submit("p")

    found = place.only()

    assert (found.kind, found.urgency) == (Kind.NO_HANDLER, Urgency.CRITICAL)
    assert "No live worker of queue work knows stage convert of pipeline p." in found.sentence


def test_jobs_that_are_due_for_long_are_told_with_the_reason(place: Place):
    place.app.submit("p")
    place.clock.advance(601)
    place.worker(concurrency=0)

    found = place.only()

    assert found.kind is Kind.QUEUE_BEHIND
    assert "1 job of queue work is due, the first for 10 min 1 s." in found.sentence
    assert "busy" in found.sentence


def test_dead_letters_are_told_by_cause_with_whose_move_it_is(place: Place):
    place.dead(2)
    place.error = "AUTH_DENIED"
    place.dead(1)

    by_class, auth = place.app.attention()

    assert by_class.sentence == (
        "2 dead letters: GATEWAY_DOWN in stage convert of p, which calls gateway. Last: no answer"
    )
    assert (by_class.count, by_class.urgency) == (2, Urgency.WARNING)
    assert auth.whose is Mover.OPERATOR
    assert auth.advice == BY_CLASS["AUTH_DENIED"].action
    assert auth.action.path == f"/groups/{auth.subject}/replay"
    assert auth.action.command == f"holdfast dead replay --group {auth.subject} --preview"


def test_a_letter_that_came_back_is_escalated_to_the_developers(place: Place):
    place.error = "INVALID"
    place.dead(1)
    (letter,) = place.app.dead.find()
    place.app.dead.triage(letter.id, cause="data", by="ada")
    place.app.dead.remediate(letter.id, evidence="corrected", by="ada")
    place.app.dead.replay(letter.id, by="ada")
    place.down = True
    drain(place.app)

    found = place.only()

    assert (found.kind, found.urgency) == (Kind.ESCALATED, Urgency.CRITICAL)
    assert found.whose is Mover.DEVELOPER
    assert found.sentence.startswith("1 letter came back from a replay with the same error.")


def test_causes_beyond_the_first_are_told_together():
    groups = [
        LetterGroup(
            fingerprint=f"f{n}",
            error_class="BUG",
            stage="s",
            pipelines=("p",),
            letters=100 - n,
            escalated=0,
            first_failure_at=NOW,
            last_failure_at=NOW,
            sample_id="x",
            message="m",
            exception_type="",
            category=Category.PERMANENT,
            http_status=None,
        )
        for n in range(MAX_CAUSES + 2)
    ]

    *each, rest = letters(groups)

    assert len(each) == MAX_CAUSES
    assert rest.sentence == f"{sum(100 - n for n in (10, 11))} dead letters of 2 other causes."
    assert rest.action.path == "/groups"


def test_a_delivery_in_doubt_needs_a_person(place: Place):
    place.mailbox.next.append("accepted, no answer")
    place.app.deliver("review-1", recipients=["jane@example.test"], message={})
    drain(place.app)

    found = place.only()

    assert (found.kind, found.count) == (Kind.DELIVERY_UNKNOWN, 1)
    assert "in doubt: nobody knows whether it arrived." in found.sentence
    assert found.action.path == "/deliveries?state=unknown"


def test_a_letter_whose_delivery_is_in_doubt_is_not_offered_for_a_replay(database_url: str):
    clock = ManualClock()
    mailbox = Mailbox(clock, NEITHER)
    mailbox.next.append("accepted, no answer")
    made = Pipeline("p")
    made.stage(name="send")(lambda job: Notify(subject=job.id, recipients=["jane@example.test"]))
    options = {"providers": [mailbox], "courier": OPTIONS, "clock": clock}
    with closing(Holdfast(database_url, pipelines=[made], **options)) as app:
        job = app.submit("p", key="k").id
        drain(app)
        (letter,) = app.dead.find()
        (group,) = app.dead.groups()

        (found,) = app.attention()

        assert found.whose is Mover.OPERATOR
        assert found.advice == IN_DOUBT.action
        assert found.action.command == f"holdfast deliveries list --job {job} --state unknown"
        assert {letter.advice, app.dead.get(job).advice, advice_of(group)} == {IN_DOUBT}

        (delivery,) = app.deliveries.of_job(job)
        app.deliveries.resolve(delivery.id, "sent", by="ada", reason="she has it")
        (found,) = app.attention()
        assert found.action.label == "Replay…"


def test_letters_with_wrong_data_are_the_senders_move_and_not_offered_for_a_replay(place: Place):
    place.error = "INVALID"
    place.dead(1)

    found = place.only()

    assert found.whose is Mover.SUBMITTER
    assert found.action.command == f"holdfast dead list --group {found.subject}"
    assert (found.action.path, found.action.asks) == (found.page, False)


def test_an_open_breaker_names_the_last_failure_that_opened_it(place: Place):
    rows, now = place.app.store.upstreams, place.clock.now()
    state = rows.get("gateway")
    failures = (FailedCall(now, "UPSTREAM_5XX", "HTTP Error 503: Service Unavailable"),)
    observed = Observed("w", state.generation, ((0, 3),), failures=failures)
    rows.save(decide_breaker(state, observed, POLICY, now), now=now)

    assert place.only().sentence == (
        "The breaker of gateway is open, tried again in 30 s: 3 calls in a row failed, "
        "the last with UPSTREAM_5XX: HTTP Error 503: Service Unavailable."
    )


def test_an_open_breaker_is_told_with_its_evidence_and_what_waits(place: Place):
    place.worker()
    place.app.submit("p")
    place.open_breaker()

    found = place.only()

    assert (found.kind, found.count, found.whose) == (Kind.BREAKER_OPEN, 1, Mover.UPSTREAM)
    assert found.sentence == (
        "The breaker of gateway is open, tried again in 30 s: 3 calls in a row failed. "
        "1 job waits for it."
    )


def test_a_breaker_that_is_held_open_names_who_holds_it_and_why(place: Place):
    place.app.upstreams.force_open("gateway", by="ada", reason="maintenance")

    found = place.only()

    assert found.sentence == "The breaker of gateway is held open by ada: maintenance."
    assert (found.whose, found.action.asks) == (Mover.OPERATOR, True)
    assert found.action.command == "holdfast upstreams reset gateway"


def test_a_paused_queue_counts_once_jobs_are_due_in_it(place: Place):
    place.worker()
    place.app.pause_queue("work", by="ada", reason="the gateway is moved.")
    assert place.app.attention() == []

    place.app.submit("p")
    place.clock.advance(60)
    place.worker()
    found = place.only()

    assert found.sentence == (
        "Queue work is paused with 1 job due: by ada, 1 min ago: the gateway is moved."
    )
    assert found.action.path == "/queues/work/resume"


def test_a_replay_that_stopped_is_told_until_its_letters_are_sent(place: Place):
    place.dead(3)
    (group,) = place.app.dead.groups()
    started = place.app.replays.start(
        "outage", group.fingerprint, by="ada", cause="transient", evidence="up", rate=None
    )
    place.down = True
    replayer = place.app.replays.replayer(started.id)
    for _ in range(10):
        replayer.tick(place.clock.now())
        drain(place.app)
        place.clock.advance(1)

    stopped = next(each for each in place.app.attention() if each.kind is Kind.REPLAY_STOPPED)
    assert stopped.sentence == (
        "Replay outage stopped: the canary failed: 1 job failed again. 2 letters were not sent."
    )
    assert stopped.action.path == f"/replays/{started.id}"

    for letter in place.app.dead.find():
        place.app.dead.resolve(letter.id, note="given up", by="ada", unreplayed=True)
    assert place.app.attention() == []


def test_a_silent_worker_is_missed_until_it_is_replaced(place: Place):
    holder = place.worker()
    place.app.submit("p")
    routes = [Route("work", "p", "convert")]
    (job,) = place.app.store.claim(
        routes, limit=1, holder=holder, lease_us=30_000_000, now=place.clock.now()
    )
    place.clock.advance(90)

    found = place.only()
    assert (found.kind, found.urgency) == (Kind.WORKER_SILENT, Urgency.CRITICAL)
    assert found.sentence == (
        "1 worker ended without a word: w1. 1 job was leased by it. "
        "No live worker serves work: nobody takes over."
    )
    assert found.advice.startswith("Start a worker that serves work")

    place.worker("w2")
    found = place.only()
    assert (found.kind, found.urgency) == (Kind.WORKER_SILENT, Urgency.WARNING)
    assert found.sentence == "1 worker ended without a word: w1. 1 job was leased by it."

    place.app.cancel(job.id, by="ada")
    assert place.app.attention() == []


def test_a_silent_worker_without_a_successor_is_missed(place: Place):
    place.worker("w2", started_at=place.clock.now())
    place.clock.advance(1)
    place.worker("w1")
    place.clock.advance(90)
    place.worker("w2", started_at=Instant(place.clock.now() - 100_000_000))

    assert place.kinds() == [Kind.WORKER_SILENT]


def test_an_outbox_that_no_relay_empties_is_critical(place: Place):
    place.app.publish("thing.done", {"n": 1}, aggregate_id="thing-1")
    place.clock.advance(50)
    assert place.app.attention() == []

    place.clock.advance(11)
    found = place.only()

    assert (found.kind, found.urgency, found.count) == (Kind.OUTBOX_STUCK, Urgency.CRITICAL, 1)
    assert found.sentence == (
        "1 message is not going out, the first for 1 min 1 s: no relay takes them."
    )


def test_messages_that_were_given_up_are_told(place: Place):
    place.app.publish("thing.done", {"n": 1}, aggregate_id="thing-1")
    rows, now = place.app.store.outbox, place.clock.now()
    (message,) = rows.claim(holder="r", limit=1, lease_us=1_000_000, now=now)
    given_up = message._replace(status="failed", error_message="refused")
    rows.mark([given_up], holder="r", lease_until=Instant(now + 1_000_000))

    assert place.only().sentence == "1 message was given up: the broker did not take them."


def test_what_stands_still_comes_first_and_nothing_hides_the_rest(place: Place):
    place.dead(2)
    place.app.submit("p", queue="lonely")
    place.app.submit("p")
    place.app.pause_queue("work", by="ada")
    place.app.upstreams.force_open("gateway", by="ada")
    place.app.upstreams.reset("gateway", by="ada")

    assert place.kinds() == [Kind.NO_WORKER, Kind.DEAD_LETTERS, Kind.QUEUE_PAUSED]
    documents = [each.to_document() for each in place.app.attention()]
    assert json.loads(json.dumps(documents)) == documents
