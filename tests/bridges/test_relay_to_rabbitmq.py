"""From a commit to a queue: a relay between a real database and a real broker."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from holdfast import Holdfast, Pipeline, Wait
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from holdfast.core.values.outbox import OutboxStatus
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.testing.conformance.messages.outbox import rolled_back
from holdfast.testing.inline import run_inline
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from tests.bridges.broker import delete, drained, on_channel, own
from tests.bridges.lossy_proxy import lossy

pytestmark = pytest.mark.timeout(200)

PATIENCE_S = 30.0
QUICK = RelayOptions(poll_interval=0.2, stale_threshold=0.5, publish_timeout=2.0, lease=5.0)

grade = Pipeline("grade")


@grade.stage
def ask(job, n: int):
    job.publish("grading.request", {"n": n}, aggregate_id=f"s-{n}")
    if n == 13:
        raise ValueError(n)
    return Wait(timeout=60) if n == 7 else n


@grade.stage
def tell(job, ask: int):
    job.publish("grading.result", {"n": ask})
    return ask


def eventually(look: Callable[[], object], *, within_s: float = PATIENCE_S) -> object:
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"not within {within_s} s (last look: {found!r})"
        time.sleep(0.02)


class Bench:
    def __init__(self, url: str, broker_url: str) -> None:
        self.broker_url = broker_url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("grading.#",))
        self.app = Holdfast(url, pipelines=[grade])
        self.cleanup = ExitStack()

    def relay(
        self, broker_url: str | None = None, *, timing: RelayOptions = QUICK, **options
    ) -> None:
        transport = RabbitMq(
            broker_url or self.broker_url,
            exchange=self.exchange,
            queues=[self.queue],
            **{"confirm_timeout": 1.0, **options},
        )
        relay = self.app.relay(transport, options=timing)
        relay.start()
        self.cleanup.callback(relay.stop)

    def status(self, message_id: str) -> OutboxStatus:
        return self.app.outbox.get(message_id).status

    def published(self, *message_ids: str) -> None:
        for one in message_ids:
            eventually(lambda one=one: self.status(one) is OutboxStatus.PUBLISHED)

    def received(self) -> list[str]:
        return [message.message_id for message in drained(self.broker_url, self.queue.name)]

    def rolled_back(self) -> AbstractContextManager:
        return rolled_back(self.app.store)

    def close(self) -> None:
        self.cleanup.close()
        self.app.close()
        delete(
            self.broker_url,
            queues=(self.queue.name, self.queue.dead_queue),
            exchanges=(self.exchange, dead_exchange(self.exchange)),
        )


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Bench]:
    bench = Bench(database_url, amqp_url)
    yield bench
    bench.close()


def events(caplog: pytest.LogCaptureFixture, event: str) -> list:
    return [line for line in caplog.records if getattr(line, "event", "") == event]


def test_what_commits_is_published_and_what_does_not_is_not(bench: Bench):
    bench.relay()
    kept, undone = [], []
    for number in range(20):
        commits = number % 3 > 0
        transaction = bench.app.store.transaction if commits else bench.rolled_back
        with transaction() as connection:
            sent = bench.app.publish(
                "grading.request", number, aggregate_id="a", connection=connection
            )
        (kept if commits else undone).append(sent)

    bench.published(*kept)

    assert bench.received() == kept
    assert all(bench.app.store.outbox.get(one) is None for one in undone)


def test_what_stages_publish_goes_out_with_their_results(bench: Bench):
    bench.relay()
    jobs = {n: bench.app.submit(grade, {"n": n}) for n in (1, 7, 13)}
    run_inline(bench.app)

    eventually(lambda: bench.app.outbox.standing().pending == 0)
    got = [
        (message.type, json.loads(message.body)["n"], message.headers["cloudEvents:subject"])
        for message in drained(bench.broker_url, bench.queue.name)
    ]
    assert sorted(got) == [
        ("grading.request", 1, "s-1"),
        ("grading.request", 7, "s-7"),
        ("grading.result", 1, jobs[1].id),
    ]

    bench.app.answer(jobs[7].id, 70)
    run_inline(bench.app)
    (result,) = eventually(lambda: drained(bench.broker_url, bench.queue.name))
    assert (result.type, json.loads(result.body)) == ("grading.result", {"n": 70})


def test_a_message_that_no_queue_wants_stays_pending_and_is_cried_out(bench: Bench, caplog):
    bench.relay()
    lost = bench.app.publish("nobody.cares", 1)
    fine = bench.app.publish("grading.request", 2)

    bench.published(fine)
    eventually(lambda: bench.app.outbox.get(lost).retry_count > 1)
    message = bench.app.outbox.get(lost)
    assert message.status is OutboxStatus.PENDING
    assert message.error_message.startswith("unroutable: NO_ROUTE: no queue wants messages")
    assert events(caplog, "not_relayed")[0].trouble == "unroutable"
    eventually(lambda: events(caplog, "outbox_stale"))

    async def bind(channel):
        queue = await channel.get_queue(bench.queue.name)
        await queue.bind(bench.exchange, routing_key="nobody.cares")

    on_channel(bench.broker_url, bind)
    bench.published(lost)
    assert sorted(bench.received()) == sorted([lost, fine])


def test_a_relay_is_woken_by_a_message_long_before_it_would_look(bench: Bench):
    bench.relay(timing=RelayOptions(poll_interval=3600))
    bench.published(bench.app.publish("grading.request", 0))

    began = time.monotonic()
    with bench.app.store.transaction() as connection:
        sent = bench.app.publish("grading.request", 1, connection=connection)
    bench.published(sent, bench.app.publish("grading.request", 2))

    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize("gone", ["exchange", "queue", "binding"])
def test_what_was_deleted_is_declared_again_and_nothing_is_lost(bench: Bench, gone):
    async def unbind(channel):
        queue = await channel.get_queue(bench.queue.name)
        await queue.unbind(bench.exchange, routing_key="grading.#")

    bench.relay()
    first = bench.app.publish("grading.request", 1)
    bench.published(first)
    assert bench.received() == [first]
    if gone == "exchange":
        delete(bench.broker_url, exchanges=(bench.exchange,))
    elif gone == "queue":
        delete(bench.broker_url, queues=(bench.queue.name,))
    else:
        on_channel(bench.broker_url, unbind)

    second = bench.app.publish("grading.request", 2)

    bench.published(second)
    assert second in bench.received()


def test_a_confirmation_that_is_lost_means_the_same_message_again(bench: Bench):
    with lossy(bench.broker_url) as proxy:
        bench.relay(proxy.url)
        bench.published(bench.app.publish("grading.request", 0))
        proxy.lose_replies()
        sent = bench.app.publish("grading.request", 1)
        eventually(lambda: bench.app.outbox.get(sent).retry_count)
        assert bench.app.outbox.get(sent).error_message.startswith("unconfirmed: ")
        assert bench.status(sent) is OutboxStatus.PENDING

        proxy.pass_through()
        bench.published(sent)

    received = bench.received()
    assert proxy.lost_bytes > 0
    assert received.count(sent) > 1


@pytest.mark.slow
def test_while_the_broker_is_blocked_messages_are_taken_in_and_wait(
    either_database_url: str, rabbitmq_server: PrivateRabbitmq
):
    bench = Bench(either_database_url, rabbitmq_server.url)
    bench.relay()
    bench.published(bench.app.publish("grading.request", 0))
    rabbitmq_server.block()
    try:
        began = time.monotonic()
        waiting = [bench.app.publish("grading.request", number) for number in range(1, 30)]
        took_s = time.monotonic() - began
        eventually(lambda: bench.app.outbox.get(waiting[0]).retry_count)
        assert {bench.status(one) for one in waiting} == {OutboxStatus.PENDING}
        assert took_s < 5
    finally:
        rabbitmq_server.unblock()

    bench.published(*waiting)
    assert set(bench.received()) >= set(waiting)
    bench.close()


@pytest.mark.parametrize("how", [pytest.param("restart", marks=pytest.mark.slow), "kill"])
def test_a_relay_goes_on_by_itself_when_the_broker_is_back(
    either_database_url: str, rabbitmq_server: PrivateRabbitmq, how
):
    bench = Bench(either_database_url, rabbitmq_server.url)
    bench.relay()
    sent = [bench.app.publish("grading.request", 0)]
    bench.published(*sent)
    rabbitmq_server.settle()

    if how == "kill":
        rabbitmq_server.kill()
    else:
        rabbitmq_server.stop()
    sent += [bench.app.publish("grading.request", number) for number in range(1, 20)]
    rabbitmq_server.start()

    bench.published(*sent)
    received = bench.received()
    assert set(received) == set(sent)
    assert len(received) <= len(sent) + QUICK.batch_size
    bench.close()
