import json
from collections.abc import Iterable

import pytest

from holdfast import Holdfast
from holdfast.cli import diagnosis
from holdfast.cli.diagnosis import Finding, Level
from holdfast.core.delivery import DeliveryState
from holdfast.core.instant import SECOND_US, Instant
from holdfast.core.job import WorkerId
from holdfast.core.plan import Route
from holdfast.store.contract import QueueCounts, WorkerRow
from holdfast.store.deliveries import DeliveryStanding
from holdfast.waiting import Around
from tests.cli.conftest import Command, lines

NOW = Instant(1_800_000_000_000_000)
ROUTE = Route("mail", "news", "send")
SOUND_SQLITE = {
    "product": "SQLite",
    "version": "3.51.3",
    "sound_with_foreign_writers": "true",
    "journal_mode": "wal",
    "synchronous": "2",
}
SOUND_POSTGRES = {
    "product": "PostgreSQL",
    "server_version": "15.20 (Debian)",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "default_transaction_read_only": "off",
}


def worker(*, queues: Iterable[str] = ("mail",), seen_s_ago: int = 1, state: str = "running"):
    seen_at = Instant(NOW - seen_s_ago * SECOND_US)
    return WorkerRow(
        WorkerId(f"worker-{seen_s_ago}"), "h", 1, seen_at, seen_at, json.dumps([*queues]), 1, state
    )


def queue(*, due: int = 0, paused_by: str | None = None):
    return QueueCounts("mail", NOW if paused_by else None, paused_by, due, 0, 0, 0, None)


def levels(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.level.value, finding.check) for finding in findings]


def test_a_working_installation_is_told_so(on_app: Command, app: Holdfast):
    result = on_app("doctor")
    as_json = on_app("doctor", "--json")

    assert result.exit_code == 0
    assert "ok    pipeline    convert: fetch → to_xml, queue default" in result.stdout
    assert "ok    schema      up to date" in result.stdout
    assert "warn  workers     none is running" in result.stdout
    assert "answers" in result.stdout
    checks = {line["check"] for line in lines(as_json.stdout)}
    assert checks >= {"settings", "database", "version", "durability", "clock", "schema"}


def test_what_waits_for_a_person_is_pointed_out():
    found = [DeliveryStanding("mail", DeliveryState.UNKNOWN, 2, Instant(NOW - 60 * SECOND_US))]
    (deliveries,) = diagnosis.of_deliveries(found, NOW)
    (letters,) = diagnosis.of_letters(1)

    assert (deliveries.level, letters.level) == (diagnosis.Level.WARN, diagnosis.Level.WARN)
    assert "2 deliveries of mail unknown, the first 1 min ago" in deliveries.found
    assert "deliveries list --state unknown" in deliveries.advice
    assert "1 waits" in letters.found
    assert [*diagnosis.of_deliveries([], NOW), *diagnosis.of_letters(0)] == []


def test_due_jobs_that_no_worker_serves_fail(on_app: Command, app: Holdfast):
    app.submit("review")

    result = on_app("doctor")

    assert result.exit_code == 1
    assert "1 job of pipeline review, stage ask, queue reviews" in result.stdout
    assert "No live worker serves queue reviews." in result.stdout


def test_a_database_out_of_reach_is_said_and_exits_with_five(holdfast: Command):
    for url in ("postgresql://me:secret@127.0.0.1:1/none", "sqlite:///missing.db"):
        result = holdfast("doctor", "--database-url", url)

        assert result.exit_code == 5
        assert "fail  database    cannot reach" in result.stdout
        assert "secret" not in result.stdout


def test_a_database_without_the_schema_is_told_to_migrate(
    holdfast: Command, empty_postgres_url: str
):
    result = holdfast("doctor", "--database-url", empty_postgres_url)

    assert result.exit_code == 1
    assert "fail  schema      to be applied: 0001_foundation" in result.stdout
    assert "run: holdfast migrate" in result.stdout
    assert holdfast("migrate", "--plan", "--database-url", empty_postgres_url).stdout != ""


def test_the_password_of_the_database_is_not_shown(holdfast: Command, postgres_url: str):
    result = holdfast("doctor", "--database-url", postgres_url)

    password = postgres_url.partition("://")[2].partition("@")[0].partition(":")[2]
    assert not password or password not in result.stdout


def test_a_variable_that_is_no_setting_is_pointed_out(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_CONCURENCY", "5")

    result = holdfast("doctor", "--database-url", "sqlite:///missing.db")

    assert "warn  settings    HOLDFAST_CONCURENCY is no setting" in result.stdout


def test_sound_databases_have_nothing_to_say():
    for facts in (SOUND_SQLITE, SOUND_POSTGRES):
        assert {level for level, _ in levels(diagnosis.of_database(facts))} == {"ok"}


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        ({"wake_ups": "listening"}, "ok", "direct; workers listen"),
        ({"wake_ups": "polling", "pooler": "transaction"}, "warn", "in transaction mode; workers"),
        (
            {"wake_ups": "listening", "pooler": "session", "direct": "db", "direct_trouble": ""},
            "ok",
            "through a pooler in session mode; db for listening",
        ),
        (
            {"wake_ups": "listening", "pooler": "transaction", "direct": "db"}
            | {"direct_trouble": "it cannot be reached"},
            "fail",
            "the direct URL db: it cannot be reached",
        ),
    ],
)
def test_the_way_to_the_database_is_told(facts: dict[str, str], level: str, words: str):
    [finding] = diagnosis.of_connection(SOUND_POSTGRES | facts)

    assert finding.level == level
    assert words in finding.found
    assert list(diagnosis.of_connection(SOUND_SQLITE)) == []


def test_a_pooler_is_told_and_that_workers_poll(holdfast: Command, pgbouncer_url: str):
    result = holdfast("doctor", "--database-url", pgbouncer_url)

    assert "warn  connection  through a pooler in transaction mode" in result.stdout
    assert "HOLDFAST_DATABASE_DIRECT_URL" in result.stdout


def test_a_direct_url_beside_a_pooler_is_told_without_its_password(
    holdfast: Command, pgbouncer_url: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", pgbouncer_url)
    monkeypatch.setenv("HOLDFAST_DATABASE_DIRECT_URL", postgres_url)

    result = holdfast("doctor")

    password = postgres_url.partition("://")[2].partition("@")[0].partition(":")[2]
    assert "ok    connection  through a pooler in transaction mode; postgresql://" in result.stdout
    assert not password or password not in result.stdout


def test_a_direct_url_is_not_used_for_a_database_of_the_command_line(
    holdfast: Command,
    empty_postgres_url: str,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("HOLDFAST_DATABASE_DIRECT_URL", postgres_url)

    result = holdfast("migrate", "--database-url", empty_postgres_url)

    assert result.exit_code == 0
    assert "0001_foundation" in result.stdout


def test_a_sqlite_with_the_wal_reset_bug_is_pointed_out_with_the_extra():
    facts = SOUND_SQLITE | {"version": "3.40.1", "sound_with_foreign_writers": "false"}

    first = next(iter(diagnosis.of_database(facts)))

    assert first.level is Level.WARN
    assert "WAL-reset" in first.found
    assert "sqlite-bundled" in first.advice


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (SOUND_SQLITE | {"synchronous": "1"}, ("fail", "durability")),
        (SOUND_SQLITE | {"journal_mode": "delete"}, ("fail", "durability")),
        (SOUND_POSTGRES | {"fsync": "off"}, ("warn", "durability")),
        (SOUND_POSTGRES | {"synchronous_commit": "off"}, ("warn", "durability")),
        (SOUND_POSTGRES | {"server_version": "14.9"}, ("fail", "version")),
        (SOUND_POSTGRES | {"default_transaction_read_only": "on"}, ("fail", "access")),
    ],
)
def test_what_may_lose_commits_is_pointed_out(facts: dict[str, str], expected: tuple[str, str]):
    assert expected in levels(diagnosis.of_database(facts))


@pytest.mark.parametrize(
    ("offset_s", "level", "words"),
    [(0, "ok", "within 0 ms"), (-30, "warn", "30 s behind"), (90, "warn", "1 min 30 s ahead of")],
)
def test_a_clock_that_is_off_is_pointed_out(offset_s: int, level: str, words: str):
    finding = diagnosis.of_clock(store=NOW, machine=Instant(NOW + offset_s * SECOND_US))

    assert (finding.level.value, words in finding.found) == (level, True)


def test_a_transaction_left_open_and_dead_rows_are_pointed_out():
    opened = {"oldest_transaction": "pid 7, psql", "live_rows": "90000"}
    young = opened | {"oldest_transaction_at": str(NOW - 60 * SECOND_US), "dead_rows": "15000"}
    old = opened | {"oldest_transaction_at": str(NOW - 1800 * SECOND_US), "dead_rows": "30000"}

    assert levels(diagnosis.of_vacuum(SOUND_SQLITE, NOW)) == []
    assert levels(diagnosis.of_vacuum(young, NOW)) == [("ok", "vacuum")]
    transaction, rows = diagnosis.of_vacuum(old, NOW)
    assert (transaction.level, rows.level) == (Level.WARN, Level.WARN)
    assert transaction.found == "a transaction is open for 30 min: pid 7, psql"
    assert rows.found == "30000 dead rows beside 90000 live ones among the jobs"


def test_a_worker_that_went_silent_is_pointed_out():
    found = list(diagnosis.of_workers([worker(), worker(seen_s_ago=900)], NOW))

    assert levels(found) == [("ok", "workers"), ("warn", "workers")]
    assert "worker-900" in found[1].found


@pytest.mark.parametrize(
    ("workers", "due_for_s", "expected"),
    [
        ([worker()], 5, ("ok", "due jobs")),
        ([worker()], 120, ("warn", "due jobs")),
        ([], 5, ("fail", "due jobs")),
        ([worker(queues=["other"])], 5, ("fail", "due jobs")),
        ([worker(seen_s_ago=900)], 5, ("fail", "due jobs")),
        ([worker(state="draining")], 5, ("fail", "due jobs")),
    ],
)
def test_due_jobs_need_a_live_worker_on_their_queue(
    workers: list[WorkerRow], due_for_s: int, expected: tuple[str, str]
):
    route = (ROUTE, 3, Instant(NOW - due_for_s * SECOND_US))

    found = diagnosis.of_queues([queue(due=3)], [route], Around(workers), NOW)

    assert levels(found) == [expected]


@pytest.mark.parametrize(
    ("stages", "leased", "expected"),
    [
        ('["news/draft"]', 0, ("fail", "No live worker of queue mail knows stage send")),
        ('["news/send"]', 1, ("warn", "The worker that may take it is busy, with 1 job")),
        ('["news/send"]', 0, ("warn", "due for 2 min")),
    ],
)
def test_the_doctor_says_why_due_jobs_are_not_taken(stages, leased, expected):
    route = (ROUTE, 3, Instant(NOW - 120 * SECOND_US))
    one = worker()._replace(stages=stages)

    (found,) = diagnosis.of_queues([], [route], Around([one], {one.id: leased}), NOW)

    assert (found.level.value, expected[1] in found.found) == (expected[0], True), found


def test_due_jobs_of_a_paused_queue_are_the_pauses_doing():
    route = (ROUTE, 3, NOW)

    found = list(diagnosis.of_queues([queue(due=3, paused_by="ada")], [route], Around(), NOW))

    assert levels(found) == [("warn", "queues"), ("ok", "due jobs")]
    assert "holdfast queues resume mail" in found[0].advice


def test_failpoints_are_pointed_out():
    found = diagnosis.of_environment(unknown=[], failpoints="apply.before=kill")

    assert levels(found) == [("warn", "settings")]


def test_variables_of_systems_that_do_something_unexpected_are_told(
    holdfast: Command, app: Holdfast, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RETRY_MAX_ATTEMPTS", "3")
    monkeypatch.setenv("CONVERTER_CIRCUIT_WINDOWS", "5")

    result = holdfast("doctor", "--database-url", app.store.url)

    assert "criticizer uses 3 instead of 5" in result.stdout
    assert "did you mean CONVERTER_CIRCUIT_WINDOW?" in result.stdout

    monkeypatch.setenv("RETRY_MAX_ATTEMPTS", "many")
    assert (
        "RETRY_MAX_ATTEMPTS is 'many'" in holdfast("doctor", "--database-url", app.store.url).stdout
    )
