"""A worker of an earlier version goes on with its own statements while the schema moves on."""

import json

import psycopg
import pytest

from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.store.contract import Store
from holdfast.store.postgres import migrations as postgres_migrations
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.migrations import PostgresDialect
from holdfast.store.schema import migrate as runner
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.migrations import MIGRATIONS, SqliteDialect
from holdfast.testing.conformance.samples import NOW, PLAN, new_job, next_id
from tests.store.conftest import by_hand

BEFORE_THE_SURFACES = 3

RECORD_WORKER = (
    "insert into {worker} (id, host, pid, started_at, seen_at, queues, concurrency, state)"
    " values ('w1', 'host', 1, 1, 1, '[]', 4, 'running')"
    " on conflict (id) do update set seen_at = excluded.seen_at, state = excluded.state"
)
INSERT_JOB = (
    "insert into {job} (id, pipeline, plan, queue, priority, owner, version, payload, created_at,"
    " stage, run_at, updated_at)"
    " values ('%(id)s', 'letters', '%(plan)s', 'default', 1, 'ada', 1, '1', %(now)s, 'draft',"
    " %(now)s, %(now)s)"
)
CANCEL = (
    "update {job} set state = 'cancelled', finished_at = %(now)s, revision = 1 where id = '%(id)s'"
)
ENTER = (
    "insert into {ledger} (job_id, revision, kind, at, state, stage, attempt)"
    " values ('%(id)s', 1, 'cancelled', %(now)s, 'cancelled', 'draft', 0)"
)
START_REPLAY = (
    "insert into {replay} (id, name, asked_by, created_at, updated_at, state, from_start, canary,"
    " every_us, stop_after) values ('%(id)s', 'outage', 'ada', 1, 1, 'done', 0, 0, 0, 0)"
)
RECORD = (
    "insert into {audit} (at, done_by, action, subject_kind, subject)"
    " values (1, 'ada', 'tried', 'thing', '%(id)s')"
)


BEFORE_THE_LOG = 9

OLD_DELIVERY = (
    "insert into {delivery} (id, subject, recipient, version, provider, token, message, created_at,"
    " job_id, stage, required, run_at, updated_at) values ('%(id)s', '%(id)s', 'ada@example.org',"
    " 1, 'mail', 't', '{{}}', %(now)s, '%(id)s', 'notify', 1, %(now)s, %(now)s)"
)
OLD_SEND = (
    "update {delivery} set revision = revision + 1, state = 'sending', attempts = 1,"
    " began_at = %(now)s, updated_at = %(now)s where id = '%(id)s'"
)
OLD_DOUBT = (
    "update {delivery} set revision = revision + 1, state = 'unknown', error_class = 'NETWORK',"
    " error = '{{}}', updated_at = %(now)s where id = '%(id)s'"
)
OLD_UNTOLD = (
    "select distinct job_id from {delivery} where job_told = 0 and job_id > ''"
    " and state in ('sent', 'failed') order by job_id limit 10"
)


def migrated(url: str, count: int) -> str:
    """Bring a database to where so many migrations leave it."""
    if url.startswith("sqlite:"):
        database = Database(url)
        runner.migrate(SqliteDialect(database, lambda: 0), MIGRATIONS[:count])
        database.close()
    else:
        with Connections(url, name="test", size=1).connect() as connection:
            runner.migrate(PostgresDialect(connection), postgres_migrations.MIGRATIONS[:count])
    return url


def test_an_old_courier_goes_on_beside_one_that_keeps_a_log(
    empty_database_url: str, open_store
) -> None:
    url = migrated(empty_database_url, BEFORE_THE_LOG)
    before, after_ = ({"id": next_id(), "now": NOW} for _ in range(2))
    for statement in (OLD_DELIVERY, OLD_SEND, OLD_DOUBT):
        by_hand(url, statement % before)
    store: Store = open_store(url)
    store.migrate()
    for statement in (OLD_DELIVERY, OLD_SEND):
        by_hand(url, statement % after_)

    found = [store.deliveries.get(each["id"]) for each in (before, after_)]
    assert [each.state.value for each in found] == ["unknown", "sending"]
    assert [each.doubted_at for each in found] == [None, None]
    assert store.deliveries.attempts([before["id"]]) == {before["id"]: []}
    assert store.deliveries.untold(after="", limit=5) == [before["id"]]
    assert by_hand(url, OLD_UNTOLD) == []


BEFORE_THE_KEYS = 11
OLD_KEYED_JOB = (
    "insert into {job} (id, pipeline, plan, queue, priority, owner, key, version, payload,"
    " created_at, stage, run_at, updated_at)"
    " values ('%(id)s', 'letters', '%(plan)s', 'default', 1, 'ada', '%(id)s', 1, '1', %(now)s,"
    " 'draft', %(now)s, %(now)s) on conflict do nothing"
)
OLD_REMOVAL = (
    "delete from {ledger} where job_id = '%(id)s'",
    "delete from {job} where id = '%(id)s'",
)


def test_an_old_worker_goes_on_beside_one_that_keeps_keys(
    empty_database_url: str, open_store
) -> None:
    url = migrated(empty_database_url, BEFORE_THE_KEYS)
    values = {"id": next_id(), "now": NOW, "plan": PLAN.digest}
    by_hand(url, OLD_KEYED_JOB % values)
    store: Store = open_store(url)
    store.migrate()
    again = new_job(owner="ada", key=values["id"])

    (twin,) = store.insert([again])
    assert (twin.job_id, twin.removed_at) == (values["id"], None)
    for statement in OLD_REMOVAL:
        by_hand(url, statement % values)
    assert store.insert([again]) == [None], "an old worker keeps no key"
    by_hand(url, OLD_KEYED_JOB % {**values, "id": next_id()})


BEFORE_THE_REASONS = 15
OLD_PAUSE = (
    "insert into {queue} (name, paused_at, paused_by) values ('%(name)s', %(now)s, 'ada')"
    " on conflict do nothing"
)
OLD_PAUSED = "select name, paused_at, paused_by from {queue} order by name"


def test_a_queue_that_an_old_worker_paused_has_no_reason(
    empty_database_url: str, open_store
) -> None:
    url = migrated(empty_database_url, BEFORE_THE_REASONS)
    by_hand(url, OLD_PAUSE % {"name": "before", "now": NOW})
    store: Store = open_store(url)
    store.migrate()
    by_hand(url, OLD_PAUSE % {"name": "beside", "now": NOW})
    store.pause_queue("new", by="bob", now=NOW, reason="why")

    found = [(each.name, each.reason) for each in store.paused_queues()]
    assert found == [("before", None), ("beside", None), ("new", "why")]
    assert [name for name, *_ in by_hand(url, OLD_PAUSED)] == ["before", "beside", "new"]


BEFORE_THE_PERMISSIONS = 16
OLD_TOKEN = (
    "insert into {api_token} (id, name, role, owner, hash, created_at, created_by, revoked_at)"
    " values ('%(id)s', 'shop', 'reader', null, '%(id)s', 1, 'ada', null)"
)
OLD_TOKENS = (
    "select id, name, role, owner, hash, created_at, created_by, revoked_at from {api_token}"
)


def test_an_old_server_makes_and_reads_tokens_beside_one_that_knows_permissions(
    empty_database_url: str, open_store
) -> None:
    url = migrated(empty_database_url, BEFORE_THE_PERMISSIONS)
    before, beside = ({"id": next_id()} for _ in range(2))
    by_hand(url, OLD_TOKEN % before)
    store: Store = open_store(url)
    assert store.migrate()[:2] == ["0017_system_tables", "0018_token_permissions"]
    by_hand(url, OLD_TOKEN % beside)

    assert [row.permissions for row in store.tokens.all()] == [(), ()]
    assert store.tokens.of_hash(before["id"]).name == "shop"
    assert len(by_hand(url, OLD_TOKENS)) == 2
    assert store.pending_migrations() == []


BEFORE_THE_RATES = 18
OLD_UPSTREAM = (
    "insert into {upstream} (name, revision, body, updated_at)"
    " values ('%(name)s', 1, '%(body)s', 1)"
)
OLD_MOVE = (
    "update {upstream} set revision = revision + 1, body = '%(body)s' where name = '%(name)s'"
)
OLD_UPSTREAMS = "select name, revision, body from {upstream} order by name"


def test_an_old_worker_moves_breakers_beside_one_that_keeps_to_a_rate(
    empty_database_url: str, open_store
) -> None:
    url = migrated(empty_database_url, BEFORE_THE_RATES)
    body = json.dumps(UpstreamState("gateway").to_document())
    body = body.replace("{", "{{").replace("}", "}}")
    by_hand(url, OLD_UPSTREAM % {"name": "before", "body": body})
    store: Store = open_store(url)
    store.migrate()
    kept = [
        store.upstreams.save_bucket(Bucket(name, begun=7), now=NOW) for name in ("before", "new")
    ]
    for name in ("before", "new"):
        by_hand(url, OLD_MOVE % {"name": name, "body": body})

    assert list(store.upstreams.buckets().values()) == kept
    assert [each.revision for each in store.upstreams.all()] == [2, 2]
    assert [name for name, *_ in by_hand(url, OLD_UPSTREAMS)] == ["before", "new"]


@pytest.fixture
def old_database(empty_database_url: str) -> str:
    """A database as the version before the surfaces left it."""
    return migrated(empty_database_url, BEFORE_THE_SURFACES)


def old_worker(url: str) -> str:
    """Does what a worker of that version does, by its statements; returns the job it cancelled."""
    values = {"id": next_id(), "now": NOW, "plan": PLAN.digest}
    for statement in (INSERT_JOB, CANCEL, ENTER, START_REPLAY, RECORD, RECORD_WORKER):
        by_hand(url, statement % values)
    return values["id"]


def test_an_old_worker_goes_on_after_the_schema_has_moved(old_database, open_store) -> None:
    first = old_worker(old_database)
    store: Store = open_store(old_database)
    store.migrate()
    store.save_plan(PLAN, now=NOW)
    second = old_worker(old_database)

    jobs = store.get([first, second])
    assert {job.state.value for job in jobs.values()} == {"cancelled"}
    assert [len(store.ledger(job_id)) for job_id in (first, second)] == [1, 1]
    assert [store.replays.get(one).owner for one in (first, second)] == [None, None]
    assert len(store.audit.latest(subject_kind="thing")) == 2
    [worker] = store.workers()
    assert (worker.drain_asked_at, worker.drain_asked_by, worker.stages) == (None, None, None)
    assert store.verify(now=NOW) == []


def test_an_old_worker_that_reports_itself_leaves_alone_that_it_was_told_to_end(
    old_database, open_store
) -> None:
    old_worker(old_database)
    store: Store = open_store(old_database)
    store.migrate()
    by_hand(old_database, "update {worker} set drain_asked_at = 7, drain_asked_by = 'ada'")
    by_hand(old_database, RECORD_WORKER)

    assert store.drains.asked("w1")


def test_the_schema_moves_on_while_somebody_reads_and_writes_jobs(
    empty_postgres_url: str, open_store
) -> None:
    with Connections(empty_postgres_url, name="test", size=1).connect() as connection:
        known = postgres_migrations.MIGRATIONS[:BEFORE_THE_SURFACES]
        runner.migrate(PostgresDialect(connection), known)
    with psycopg.connect(empty_postgres_url) as idle:
        # A transaction that has read and written, and holds no lock on a table that is altered.
        idle.execute("select count(*) from holdfast.plan")
        store: Store = open_store(empty_postgres_url)
        assert len(store.migrate()) == len(postgres_migrations.MIGRATIONS) - BEFORE_THE_SURFACES
    store.check_schema()
