"""Replies through a real RabbitMQ: a stage asks by a message, and a message continues its job."""

import json
import uuid
from collections.abc import Iterator

import aio_pika
import kombu
import pytest

from holdfast import Holdfast, JobState, Pipeline, Retry, Wait
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue
from holdfast.runtime.outbox.received import Received
from holdfast.testing import run_inline
from tests.bridges.broker import delete, drained, on_channel, own
from tests.bridges.consuming import Bench, bench_on, eventually

pytestmark = pytest.mark.timeout(200)

REQUEST, REPLY = "grading.request", "grading.reply"

essays = Pipeline("essays")


@essays.stage
def ask(job, valid_for: float | None) -> Wait:
    token = job.callback_token(valid_for=valid_for)
    job.publish(REQUEST, {"callback_token": token, "essay": "e-1"})
    return Wait()


@essays.stage
def tell(_job, ask: int) -> str:
    return f"graded {ask}"


impatient = Pipeline("impatient", retry=Retry(attempts=2, base=3, jitter="none"))


@impatient.stage(name="ask")
def ask_twice(job) -> Wait:
    job.publish(REQUEST, {"callback_token": job.callback_token()})
    return Wait(timeout=0.2 if job.attempt == 1 else None)


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Bench]:
    yield from bench_on(database_url, amqp_url, pipelines=[essays, impatient])


def waiting(bench: Bench, *, valid_for: float | None = None, **options):
    """A job that has asked, and the token that its request carries."""
    job = bench.app.submit(essays, {"valid_for": valid_for}, **options)
    run_inline(bench.app)
    assert job.get().state is JobState.WAITING
    (request,) = bench.app.outbox.find()
    return job, json.loads(request.payload)["callback_token"]


def send(bench: Bench, payload: object, message_id: str, **properties) -> None:
    """Publish as a program would that knows nothing of holdfast."""

    async def publish(channel) -> None:
        exchange = await channel.get_exchange(bench.exchange)
        body = json.dumps(payload).encode()
        message = aio_pika.Message(body, message_id=message_id, **properties)
        await exchange.publish(message, routing_key=REPLY)

    on_channel(bench.broker_url, publish)


def test_a_stage_asks_by_a_message_and_the_reply_of_another_program_continues_its_job(
    bench: Bench,
):
    grader = Holdfast(bench.url)
    requests = Queue(name=own("requests"), types=(REQUEST,))
    replies = Queue(name=own("replies"), types=(REPLY,))

    def grade(message: Received, connection) -> None:
        answer = {"callback_token": message.payload["callback_token"], "result": 87}
        grader.publish(REPLY, answer, connection=connection)

    transport = RabbitMq(bench.broker_url, exchange=bench.exchange, queues=[requests, replies])
    relay = bench.app.relay(transport)
    relay.start()
    bench.cleanup.callback(relay.stop)
    places = {"exchange": bench.exchange}
    bench.start(grader.consumer(bench.broker_url, queue=requests, handler=grade, **places))
    bench.start(bench.app.consumer(bench.broker_url, queue=replies, replies=True, **places))
    job = bench.app.submit(essays, {"valid_for": None})
    run_inline(bench.app)

    eventually(lambda: job.get().job.stage == "tell")
    run_inline(bench.app)

    assert job.get().result == "graded 87"
    assert bench.app.verify() == []
    bench.cleanup.close()
    names = (requests.name, requests.dead_queue, replies.name, replies.dead_queue)
    delete(bench.broker_url, queues=names)
    grader.close()


def test_a_reply_that_comes_three_times_counts_once(bench: Bench):
    job, token = waiting(bench)
    bench.consumer(handler=None, replies=True)

    for grade in (87, 12, 12):
        send(bench, {"callback_token": token, "result": grade}, "m-1")

    eventually(lambda: bench.depth() == 0 and job.get().job.stage == "tell")
    run_inline(bench.app)
    assert job.get().result == "graded 87"
    assert [line.event for line in bench.app.history(job.id)].count("advanced") == 1


def test_a_reply_by_its_correlation_id_continues_the_job(bench: Bench):
    job, token = waiting(bench)
    bench.consumer(handler=None, replies=True)

    send(bench, 87, "m-1", correlation_id=token)

    eventually(lambda: job.get().job.stage == "tell")
    run_inline(bench.app)
    assert job.get().result == "graded 87"


def test_a_program_that_answers_by_amqps_own_means_continues_the_job(bench: Bench):
    """It sends its answer to `reply_to` with the request's `correlation_id`, and no id."""
    requests = Queue(name=own("requests"), types=(REQUEST,))
    replies = Queue(name=own("replies"), types=(REPLY,))
    transport = RabbitMq(
        bench.broker_url,
        exchange=bench.exchange,
        queues=[requests, replies],
        reply_to=replies.name,
    )
    job, token = waiting(bench)
    relay = bench.app.relay(transport)
    relay.start()
    bench.cleanup.callback(relay.stop)

    with kombu.Connection(bench.broker_url) as connection:
        channel = connection.channel()
        request = eventually(lambda: channel.basic_get(requests.name, no_ack=True))
        asked = request.properties
        for grade in (87, 12):
            connection.Producer().publish(
                grade,
                exchange="",
                routing_key=asked["reply_to"],
                correlation_id=asked["correlation_id"],
                serializer="json",
            )

    bench.start(
        bench.app.consumer(bench.broker_url, queue=replies, replies=True, exchange=bench.exchange)
    )
    eventually(lambda: job.get().job.stage == "tell")
    run_inline(bench.app)
    bench.cleanup.close()
    assert asked["correlation_id"] == token
    # They are handled side by side: whichever is first counts, and the other changes nothing.
    assert job.get().result in {"graded 87", "graded 12"}
    assert [line.event for line in bench.app.history(job.id)].count("advanced") == 1
    assert drained(bench.broker_url, replies.name) == []
    assert drained(bench.broker_url, replies.dead_queue) == []
    names = (requests.name, requests.dead_queue, replies.name, replies.dead_queue)
    delete(bench.broker_url, queues=names)


def test_a_program_may_answer_by_messages_how_far_it_is_and_that_it_failed(bench: Bench):
    job, token = waiting(bench)
    bench.consumer(handler=None, replies=True)

    send(bench, {"callback_token": token, "outcome": "progress", "note": "page 1"}, "m-1")
    eventually(lambda: bench.app.history(job.id)[-1].event == "progress")
    error = {"error_class": "AUDIO_UNREADABLE", "message": "no sound"}
    with kombu.Connection(bench.broker_url) as connection:
        # By AMQP's own means, and without an id.
        connection.Producer().publish(
            error,
            exchange=bench.exchange,
            routing_key=REPLY,
            correlation_id=token,
            headers={"outcome": "failure"},
            serializer="json",
        )

    eventually(lambda: job.get().state is JobState.FAILED)
    assert job.get().error["message"] == "no sound"
    assert drained(bench.broker_url, bench.queue.dead_queue) == []
    assert bench.app.verify() == []


def test_a_message_without_an_id_or_anything_that_it_answers_is_no_reply(bench: Bench):
    bench.consumer(handler=None, replies=True)

    with kombu.Connection(bench.broker_url) as connection:
        connection.Producer().publish(
            87, exchange=bench.exchange, routing_key=REPLY, serializer="json"
        )

    (letter,) = eventually(lambda: drained(bench.broker_url, bench.queue.dead_queue))
    assert json.loads(letter.headers["holdfast-failure"])["error_class"] == "PAYLOAD_INVALID"


def test_a_reply_after_the_deadline_is_kept_as_late(bench: Bench):
    job, token = waiting(bench, deadline=0.5)
    eventually(lambda: bench.app.clock.now() > job.get().job.deadline_at)
    bench.consumer(handler=None, replies=True)

    send(bench, {"callback_token": token, "result": 87}, "m-1")

    eventually(lambda: job.get().job.late_result == "87")
    assert job.get().error["error_class"] == "TIMEOUT"
    assert drained(bench.broker_url, bench.queue.dead_queue) == []


@pytest.mark.parametrize("how", ["forged", "expired", "without"])
def test_a_reply_that_is_refused_is_a_dead_letter_at_once_and_says_why(bench: Bench, how: str):
    job, token = waiting(bench, valid_for=0.2 if how == "expired" else None)
    if how == "expired":
        until = bench.app.clock.now() + 300_000
        eventually(lambda: bench.app.clock.now() > until)
    payload, reason = {
        "forged": ({"callback_token": token[:-3] + "AAA", "result": 12}, "was not issued"),
        "expired": ({"callback_token": token, "result": 12}, "has expired"),
        "without": ({"result": 12}, "carries no callback token"),
    }[how]
    bench.consumer(handler=None, replies=True)
    send(bench, payload, "m-1", correlation_id=None)

    (letter,) = eventually(lambda: drained(bench.broker_url, bench.queue.dead_queue))

    failure = json.loads(letter.headers["holdfast-failure"])
    assert failure["error_class"] == "INVALID"
    assert reason in failure["message"]
    assert letter.headers["holdfast-attempts"] == 1, "it did not come round again"
    assert bench.depth() == 0
    assert job.get().state is JobState.WAITING


def test_a_reply_between_two_attempts_is_a_dead_letter_that_counts_when_it_is_replayed(
    bench: Bench,
):
    app, job = bench.app, bench.app.submit(impatient)
    bench.consumer(handler=None, replies=True)
    bench.dead_letter_consumer()

    def comes_to(state: JobState) -> bool:
        run_inline(app)
        return job.get().state is state

    eventually(lambda: comes_to(JobState.QUEUED))
    (request,) = app.outbox.find()
    token = json.loads(request.payload)["callback_token"]
    message_id = str(uuid.uuid4())
    send(bench, {"callback_token": token, "result": 87}, message_id)
    (view,) = eventually(app.dead.find)
    assert view.letter.error_class == "CONFLICT"
    eventually(lambda: comes_to(JobState.WAITING))
    relay = app.relay(RabbitMq(bench.broker_url, exchange=bench.exchange))
    relay.start()
    bench.cleanup.callback(relay.stop)
    app.dead.triage(message_id, cause="transient", by="ada")
    app.dead.remediate(message_id, evidence="the job waits again", by="ada")
    app.dead.replay(message_id, by="ada")

    eventually(lambda: job.get().state is JobState.COMPLETE)
    assert job.get().result == 87
