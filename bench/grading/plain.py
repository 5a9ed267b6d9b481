"""The contract of grading without holdfast: Celery, an outbox that a loop polls, a result table.

What a careful team writes in an afternoon: submission and outbox row in one transaction, a poller
that publishes with confirms and marks, a task that is acknowledged late and notes its request id
in the transaction that holds its result, and a consumer of callbacks. Nothing here survives a
provider that is down, a task that dies between the paid call and its commit, or a lost callback.

`python -m bench.grading.plain poll|callbacks` are its two other processes.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime

import psycopg
from celery import Celery
from kombu import Connection, Consumer, Exchange, Producer, Queue

from grading.llm import AssessTask, LlmConfig, evidence_of, open_assessor
from grading.questions import packaged
from grading.result import Cost
from grading.scoring.score import score_writing

BATCH = 50
IDLE_S = 0.05
"""How long the poller waits when nothing is pending: a hundredth of what the contract allows."""
EXCHANGE = Exchange("plain.grading", type="topic", durable=True)
QUORUM = {"x-queue-type": "quorum"}
REQUESTS = "plain.grading.request"
CALLBACKS = Queue(
    "plain.grading.callback",
    EXCHANGE,
    routing_key="grading.callback",
    durable=True,
    queue_arguments=QUORUM,
)
SCHEMA = """
create table submission (
    id uuid primary key, status text not null, text text not null, result jsonb,
    created_at timestamptz not null default now(), deadline_at timestamptz not null
);
create table outbox (
    id bigserial primary key, aggregate_id uuid not null, payload jsonb not null,
    status text not null default 'pending', created_at timestamptz not null default now(),
    processed_at timestamptz
);
create index outbox_pending on outbox (created_at, id) where status = 'pending';
create table graded (request_id uuid primary key, result jsonb not null);
"""
SUBMIT = """
with made as (
    insert into submission (id, status, text, deadline_at)
    values (%(id)s, 'PENDING', %(text)s, now() + interval '20 minutes') returning id
)
insert into outbox (aggregate_id, payload)
select id, jsonb_build_object('requestId', id, 'text', %(text)s::text) from made
"""
PENDING = """
select id, payload from outbox where status = 'pending' order by created_at, id limit %s
for update skip locked
"""
MARK = "update outbox set status = 'published', processed_at = now() where id = any(%s)"
KEEP = "insert into graded values (%s, %s) on conflict do nothing"
COMPLETE = """
update submission set status = 'COMPLETED', result = %s
where id = %s and status in ('PENDING', 'PROCESSING') and now() <= deadline_at
"""

celery = Celery("plain", broker=os.environ.get("BENCH_BROKER", "amqp://"))
celery.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=16,
    worker_enable_remote_control=False,
    broker_transport_options={"confirm_publish": True},
    broker_native_delayed_delivery_queue_type="classic",
    task_queues=[
        Queue(
            REQUESTS,
            Exchange(REQUESTS, type="topic"),
            routing_key=REQUESTS,
            queue_arguments=QUORUM,
        )
    ],
)
_kept = {}


def _database() -> psycopg.Connection:
    if "database" not in _kept:
        _kept["database"] = psycopg.connect(os.environ["BENCH_DATABASE"], autocommit=True)
    return _kept["database"]


def _model():
    if "model" not in _kept:
        config = LlmConfig(base_url=os.environ["LLM_BASE_URL"], api_key="bench", model="bench")
        _kept["model"] = open_assessor(config)
    return _kept["model"]


def _producer() -> Producer:
    if "producer" not in _kept:
        connection = Connection(
            os.environ["BENCH_BROKER"], transport_options={"confirm_publish": True}
        )
        _kept["producer"] = Producer(connection.channel(), EXCHANGE)
    return _kept["producer"]


@celery.task(name="grade")
def grade(request: dict) -> None:
    request_id, text = request["requestId"], request["text"]
    found = _database().execute("select result from graded where request_id = %s", [request_id])
    known = found.fetchone()
    result = known[0] if known else _graded(request_id, text)
    if not known:
        _database().execute(KEEP, [request_id, json.dumps(result)])
    _producer().publish(
        {"requestId": request_id, "status": "completed", "result": result},
        routing_key="grading.callback",
        delivery_mode=2,
        declare=[CALLBACKS],
    )


def _graded(request_id: str, text: str) -> dict:
    task = AssessTask.of(packaged().get("w2-tourism"), text)
    raw = _model().assess(task, token=request_id, timeout_s=60, headers={})
    result = score_writing(
        [evidence_of(raw)],
        text=text,
        question=task,
        grader=raw.provider,
        graded_at=datetime.now(UTC),
        cost=Cost(),
    )
    return result.model_dump(mode="json")


def poll() -> None:
    """Publish what is pending, 50 at a time, until ended."""
    with psycopg.connect(os.environ["BENCH_DATABASE"]) as database:
        while True:
            rows = database.execute(PENDING, [BATCH]).fetchall()
            for _, payload in rows:
                grade.apply_async((payload,), queue=REQUESTS)
            if rows:
                database.execute(MARK, [[row[0] for row in rows]])
            database.commit()
            if not rows:
                time.sleep(IDLE_S)


def callbacks() -> None:
    """Write what callbacks say, until ended."""
    database = psycopg.connect(os.environ["BENCH_DATABASE"], autocommit=True)

    def complete(body: dict, message) -> None:
        database.execute(COMPLETE, [json.dumps(body["result"]), body["requestId"]])
        message.ack()

    with Connection(os.environ["BENCH_BROKER"]) as connection:
        consumer = Consumer(
            connection.channel(), [CALLBACKS], callbacks=[complete], prefetch_count=64
        )
        with consumer:
            while True:
                connection.drain_events()


if __name__ == "__main__":
    {"poll": poll, "callbacks": callbacks}[sys.argv[1]]()
