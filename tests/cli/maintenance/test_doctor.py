import json
from collections.abc import Callable, Iterable

import pytest

from holdfast import Breaker, Holdfast, Pipeline, Upstream
from holdfast.cli.maintenance import diagnosis
from holdfast.cli.maintenance.diagnosis import Finding, Level
from holdfast.core.job.job import WorkerId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import WorkerRow
from tests.cli.conftest import Command, lines

NOW = Instant(1_800_000_000_000_000)
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


def live(now: Instant, *, queues: Iterable[str]) -> WorkerRow:
    return worker(queues=queues)._replace(id=WorkerId("live"), started_at=now, seen_at=now)


def fetch(job) -> None: ...


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


def test_due_jobs_that_no_worker_serves_fail(on_app: Command, app: Holdfast):
    app.submit("review")

    result = on_app("doctor")

    assert result.exit_code == 1
    assert "1 job of pipeline review, stage ask, queue reviews" in result.stdout
    assert "No live worker serves queue reviews." in result.stdout


def test_the_doctor_prints_what_needs_a_person_and_exits_by_the_worst_of_it(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    app.store.record_worker(live(app.clock.now(), queues=("default", "reviews")))
    assert on_app("doctor").exit_code == 0
    assert "ok    attention   nothing needs a person" in on_app("doctor").stdout

    job("broken")
    app.store.record_worker(live(app.clock.now(), queues=("default", "reviews")))
    app.submit("convert", {"pdf": "a"})
    app.pause_queue("default", by="ada", reason="the gateway is being moved")
    warned = on_app("doctor")
    app.submit("convert", {"pdf": "b"}, queue="lonely")
    failed = on_app("doctor", "--json")

    assert warned.exit_code == 6
    told = warned.stdout.splitlines()
    dead, paused = [line for line in told if line.startswith(("warn  dead", "warn  queues"))]
    assert "warn  dead        1 dead letter: BUG in stage to_xml of convert." in dead
    assert "Queue default is paused with 1 job due: by ada" in paused
    assert "ago: the gateway is being moved." in paused
    assert "operator: Resume it once its reason is gone. holdfast queues resume default" in (
        warned.stdout
    )
    assert failed.exit_code == 1
    kinds = [line["attention"]["kind"] for line in lines(failed.stdout) if line["attention"]]
    assert kinds == ["no_worker", "dead_letters", "queue_paused"]


def test_the_doctor_holds_an_open_breaker_responsible(on_app: Command, app: Holdfast):
    calling = Pipeline("calling")
    calling.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3)))(fetch)
    app.add(calling)
    app.store.record_worker(live(app.clock.now(), queues=("default",)))
    job = app.submit(calling)
    app.upstreams.force_open("gateway", by="ada", reason="maintenance")

    result = on_app("doctor")
    shown = on_app("jobs", "show", job.id).stdout
    listed = on_app("jobs", "list", "--label", "held").stdout

    assert "Held: the breaker of upstream gateway is held open by ada: maintenance." in shown
    assert (job.id in listed, "held" in listed) == (True, True)
    assert "worker" not in shown.split("state")[0]
    assert result.exit_code == 6
    assert "The breaker of gateway is held open by ada: maintenance. 1 job waits for it." in (
        result.stdout
    )
    assert "busy" not in result.stdout


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
