"""What may be wrong with an installation, judged from facts alone, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.engine.attention import Attention, Kind, Urgency
from holdfast.store.contract import WorkerRow
from holdfast.views.durations import span
from holdfast.views.worker import standing

OLDEST_POSTGRES: Final = 15
CLOCK_TOLERANCE_US: Final = 2 * SECOND_US
LONG_OPEN_US: Final = 300 * SECOND_US
MANY_DEAD_ROWS: Final = 10_000
DEAD_SHARE: Final = 0.2
_SQLITE_SYNCHRONOUS: Final = {"0": "off", "1": "normal", "2": "full", "3": "extra"}


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: Level
    check: str
    found: str
    advice: str = ""
    attention: Attention | None = None
    """The entry of the list of what needs a person that it is about."""


def of_environment(*, unknown: Sequence[str], failpoints: str) -> Iterator[Finding]:
    """Judge the variables with holdfast's prefix."""
    for name in unknown:
        yield Finding(
            Level.WARN, "settings", f"{name} is no setting", "see: holdfast config show --origin"
        )
    if failpoints:
        yield Finding(
            Level.WARN,
            "settings",
            f"HOLDFAST_FAILPOINTS={failpoints}",
            "workers started here die on purpose; unset it outside tests",
        )


def of_database(facts: Mapping[str, str]) -> Iterator[Finding]:
    """Judge the database's version and whether what it says is stored will stay stored."""
    if facts["product"] == "SQLite":
        return _of_sqlite(facts)
    return _of_postgres(facts)


def _of_sqlite(facts: Mapping[str, str]) -> Iterator[Finding]:
    version = f"SQLite {facts['version']}"
    if facts["sound_with_foreign_writers"] == "true":
        yield Finding(Level.OK, "version", version)
    else:
        yield Finding(
            Level.WARN,
            "version",
            f"{version} has the WAL-reset bug, fixed in 3.51.3",
            "holdfast's own processes take turns and are safe; let any other program that "
            "writes to this file bring a newer SQLite, such as the extra sqlite-bundled has",
        )
    mode, synchronous = facts["journal_mode"], facts["synchronous"]
    word = _SQLITE_SYNCHRONOUS.get(synchronous, synchronous)
    found = f"journal mode {mode}, synchronous {word}"
    if mode in {"wal", "memory"} and word in {"full", "extra"}:
        yield Finding(Level.OK, "durability", found)
    else:
        yield Finding(
            Level.FAIL,
            "durability",
            found,
            "it must be wal and full, or a power cut may take commits with it",
        )


def _of_postgres(facts: Mapping[str, str]) -> Iterator[Finding]:
    version = facts["server_version"]
    major = version.partition(".")[0]
    if major.isdigit() and int(major) < OLDEST_POSTGRES:
        yield Finding(
            Level.FAIL,
            "version",
            f"PostgreSQL {version}",
            f"holdfast is tested from PostgreSQL {OLDEST_POSTGRES} on; upgrade the server",
        )
    else:
        yield Finding(Level.OK, "version", f"PostgreSQL {version}")
    names = ("fsync", "synchronous_commit", "full_page_writes")
    found = ", ".join(f"{name} {facts[name]}" for name in names)
    off = [name for name in names if facts[name] == "off"]
    if off:
        yield Finding(
            Level.WARN,
            "durability",
            found,
            f"turn {' and '.join(off)} on, or a crash of the server may take commits with it",
        )
    else:
        yield Finding(Level.OK, "durability", found)
    if facts.get("default_transaction_read_only") == "on":
        yield Finding(
            Level.FAIL,
            "access",
            "transactions are read-only by default",
            "is this a standby? Name the primary in the database URL",
        )


def of_connection(facts: Mapping[str, str]) -> Iterator[Finding]:
    """Judge the way to the database: what a pooler keeps from working, and what leads past it."""
    if "wake_ups" not in facts:
        return
    mode = facts.get("pooler")
    found = "direct" if mode is None else f"through a pooler in {mode} mode"
    if facts.get("direct_trouble"):
        yield Finding(
            Level.FAIL,
            "connection",
            f"{found}; the direct URL {facts['direct']}: {facts['direct_trouble']}",
            "workers listen there, and migrations run there: name the server itself",
        )
    elif "direct" in facts:
        yield Finding(Level.OK, "connection", f"{found}; {facts['direct']} for listening")
    elif mode is None:
        yield Finding(Level.OK, "connection", f"{found}; workers listen for due jobs")
    else:
        yield Finding(
            Level.WARN,
            "connection",
            f"{found}; workers find due jobs by polling",
            "to have them woken, and to migrate, name the server itself in "
            "HOLDFAST_DATABASE_DIRECT_URL or Holdfast(direct_url=…)",
        )


def of_vacuum(facts: Mapping[str, str], now: Instant) -> Iterator[Finding]:
    """Judge whether the job table is kept clean: claims pay for the dead rows in it."""
    since = facts.get("oldest_transaction_at")
    if since is not None and now - int(since) > LONG_OPEN_US:
        yield Finding(
            Level.WARN,
            "vacuum",
            f"a transaction is open for {span(now - int(since))}: {facts['oldest_transaction']}",
            "vacuum cannot pass it, so dead rows pile up and claims take longer; end it, "
            "with pg_terminate_backend(pid) if need be",
        )
    if "dead_rows" not in facts:
        return
    dead, live = int(facts["dead_rows"]), int(facts["live_rows"])
    found = f"{dead} dead rows beside {live} live ones among the jobs"
    if dead > MANY_DEAD_ROWS and dead > DEAD_SHARE * live:
        yield Finding(
            Level.WARN,
            "vacuum",
            found,
            "end long transactions, see that autovacuum is on, then: vacuum (analyze) holdfast.job",
        )
    else:
        yield Finding(Level.OK, "vacuum", found)


def of_clock(*, store: Instant, machine: Instant) -> Finding:
    """Judge how far this machine's clock is from the database's."""
    offset_us = machine - store
    if abs(offset_us) <= CLOCK_TOLERANCE_US:
        return Finding(Level.OK, "clock", f"within {span(offset_us)} of the database's")
    side = "ahead of" if offset_us > 0 else "behind"
    return Finding(
        Level.WARN,
        "clock",
        f"{span(offset_us)} {side} the database's",
        "jobs go by the database's clock, logs by this one; synchronise them",
    )


def of_workers(workers: Sequence[WorkerRow], now: Instant) -> Iterator[Finding]:
    """Judge who runs jobs."""
    running = sum(standing(worker, now) == "running" for worker in workers)
    if running:
        yield Finding(Level.OK, "workers", f"{running} running")
    else:
        yield Finding(
            Level.WARN, "workers", "none is running", "start one: holdfast -A module:app worker"
        )


_CHECKS: Final = {
    Kind.NO_WORKER: "due jobs",
    Kind.NO_HANDLER: "due jobs",
    Kind.QUEUE_BEHIND: "due jobs",
    Kind.OUTBOX_STUCK: "outbox",
    Kind.MESSAGE_FAILED: "outbox",
    Kind.ESCALATED: "dead",
    Kind.DEAD_LETTERS: "dead",
    Kind.DELIVERY_UNKNOWN: "deliveries",
    Kind.DELIVERY_FAILED: "deliveries",
    Kind.BREAKER_OPEN: "upstreams",
    Kind.QUEUE_PAUSED: "queues",
    Kind.REPLAY_STOPPED: "replays",
    Kind.WORKER_SILENT: "workers",
    Kind.SYSTEM: "systems",
}
"""What each kind of thing that needs a person is listed under."""


def of_attention(found: Sequence[Attention]) -> Iterator[Finding]:
    """Return everything that needs a person, the most urgent first, or that nothing does."""
    for each in found:
        level = Level.FAIL if each.urgency is Urgency.CRITICAL else Level.WARN
        advice = f"{each.whose.value}: {each.advice} {each.action.command}".rstrip()
        yield Finding(level, _CHECKS[each.kind], each.sentence, advice, each)
    if not found:
        yield Finding(Level.OK, "attention", "nothing needs a person")
