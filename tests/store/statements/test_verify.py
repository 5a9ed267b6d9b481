"""Each invariant is broken by hand, behind the store's back, and found."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from holdfast.core.job.event import (
    CancelRequested,
    DeadlinePassed,
    Done,
    Failed,
    Refused,
    RetryRequested,
    Snoozed,
    Suspended,
)
from holdfast.core.job.job import Job
from holdfast.store.contract import Store
from holdfast.store.statements import sqlfiles
from holdfast.testing.conformance.deliveries import new_delivery
from holdfast.testing.conformance.messages.outbox import added
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PASSING_FAILURE,
    PLAN,
    after,
    after_event,
    claim,
    new_job,
    started,
    submitted,
)
from tests.store.conftest import by_hand


def queued(store: Store) -> str:
    (job_id,) = submitted(store)
    return job_id


def processing(store: Store) -> str:
    return started(store).id


def complete(store: Store) -> str:
    return after_event(store, started(store, stage="send"), Done('"sent"')).id


def failed(store: Store) -> str:
    return after_event(store, started(store), Failed(LASTING_FAILURE)).id


def refused(store: Store) -> str:
    (job_id,) = submitted(store)
    return after_event(store, store.get([job_id])[job_id], Refused(LASTING_FAILURE)).id


def mistaken(store: Store) -> str:
    failure = LASTING_FAILURE._replace(user_error=True)
    return after_event(store, started(store), Failed(failure)).id


def mistaken_after_retry(store: Store) -> str:
    job = after_event(store, started(store), Failed(LASTING_FAILURE))
    after_event(store, job, RetryRequested("ada"), now=after(1))
    (running,) = claim(store, now=after(2))
    failure = LASTING_FAILURE._replace(user_error=True, error_class="PDF_BROKEN")
    return after_event(store, running, Failed(failure), now=after(3)).id


def revived(store: Store) -> str:
    job = after_event(store, started(store), Failed(LASTING_FAILURE))
    return after_event(store, job, RetryRequested("ada"), now=after(1)).id


def cancelled(store: Store) -> str:
    return after_event(store, started(store), CancelRequested("ada")).id


def waiting(store: Store) -> str:
    return after_event(store, started(store), Suspended()).id


def advanced(store: Store) -> str:
    return after_event(store, started(store), Done('"drafted"')).id


def retried(store: Store) -> str:
    return after_event(store, started(store), Failed(PASSING_FAILURE)).id


def rerun(store: Store) -> str:
    (first,) = submitted(store, key="k")
    job = new_job(key="k", version=2, rerun_of=first)
    store.insert_rerun(job)
    return job.id


def intended(store: Store) -> str:
    (delivery,) = store.deliveries.ensure([new_delivery()])
    return delivery.id


def waiting_for_mail(store: Store) -> str:
    job = started(store)
    waiting = after_event(store, job, Suspended())
    store.deliveries.ensure([new_delivery(job_id=job.id, stage=job.stage)])
    return waiting.id


def published(store: Store) -> str:
    (message_id,) = added(store, "a")
    return message_id


MAKES = Callable[[Store], str]

JOB = "update {{job}} set {} where id = '{}'"
LEDGER = "update {{ledger}} set {} where job_id = '{}'"
CHECKPOINT = "update {{checkpoint}} set {} where job_id = '{}'"
LETTER = "update {{dead_letter}} set {} where id = '{}'"
NO_LETTER = "{} from {{dead_letter}} where id = '{}'"
DELIVERY = "update {{delivery}} set {} where id = '{}'"
DELIVERY_OF_JOB = "update {{delivery}} set {} where job_id = '{}'"
MESSAGE = "update {{outbox}} set {} where id = '{}'"
STRANGER = "018bcfe5-6800-7000-8000-ffffffffffff"

BREAKS: list[tuple[str, MAKES, str, str]] = [
    ("state_is_known", queued, JOB, "state = 'lost'"),
    ("lease_only_while_processing", processing, JOB, "holder = null"),
    ("lease_only_while_processing", processing, JOB, "lease_until = null"),
    ("lease_only_while_processing", queued, JOB, "holder = 'w'"),
    ("lease_only_while_processing", cancelled, JOB, "lease_until = 1"),
    ("result_only_when_complete", complete, JOB, "result = null"),
    ("result_only_when_complete", waiting, JOB, "result = '1'"),
    ("error_only_when_failed", failed, JOB, "error = null"),
    ("error_only_when_failed", failed, JOB, "error_class = null"),
    ("error_only_when_failed", complete, JOB, "error = '1'"),
    ("error_only_when_failed", queued, JOB, "error_class = 'BUG'"),
    ("finished_only_when_ended", complete, JOB, "finished_at = null"),
    ("finished_only_when_ended", processing, JOB, "finished_at = 1"),
    ("late_result_only_after_timeout", failed, JOB, "late_result = '1'"),
    ("late_result_only_after_timeout", complete, JOB, "late_result = '1', error_class = 'TIMEOUT'"),
    ("counters_are_sound", queued, JOB, "run = 0"),
    ("counters_are_sound", queued, JOB, "attempt = -1"),
    ("counters_are_sound", processing, JOB, "token = 0"),
    ("counters_are_sound", processing, JOB, "token = 2"),
    ("counters_are_sound", queued, JOB, "snoozes = -1"),
    ("counters_are_sound", queued, JOB, "interruptions = -1"),
    ("counters_are_sound", queued, JOB, "retries = -1"),
    ("attempts_within_budget", processing, JOB, "attempt = 4, token = 4, revision = 4"),
    ("attempts_match_ledger", processing, JOB, "attempt = 2, token = 2, revision = 2"),
    ("attempts_match_ledger", retried, JOB, "attempt = 0"),
    ("attempts_match_ledger", waiting, JOB, "attempt = 0"),
    ("leases_are_reclaimed", processing, JOB, f"lease_until = {after(-61)}"),
    ("checkpoint_has_its_job", advanced, CHECKPOINT, f"job_id = '{STRANGER}'"),
    ("checkpoint_has_its_job", advanced, CHECKPOINT, "run = 2"),
    ("ledger_has_its_job", advanced, LEDGER, f"job_id = '{STRANGER}'"),
    ("ledger_has_its_job", advanced, LEDGER, "revision = 9"),
    ("ledger_leads_to_row", advanced, LEDGER, "state = 'failed'"),
    ("ledger_leads_to_row", complete, LEDGER, "revision = 1"),
    ("ledger_leads_to_row", complete, JOB, "revision = 3"),
    ("ledger_leads_to_row", queued, JOB, "revision = 1"),
    ("ledger_leads_to_row", queued, JOB, "revision = 2"),
    ("ledger_leads_to_row", complete, JOB, "revision = revision + 2"),
    ("plan_is_stored", queued, JOB, "plan = 'unknown'"),
    ("rerun_follows_first", rerun, JOB, f"rerun_of = '{STRANGER}'"),
    ("rerun_follows_first", rerun, JOB, "version = 1"),
    ("rerun_follows_first", rerun, JOB, "owner = 'ada'"),
    ("rerun_follows_first", rerun, JOB, "key = null"),
    ("failed_has_its_letter", failed, NO_LETTER, "delete"),
    ("failed_has_its_letter", refused, LEDGER, "kind = 'failed'"),
    ("failed_has_its_letter", mistaken, LEDGER, "kind = 'failed'"),
    ("failed_has_its_letter", failed, LETTER, "state = 'replayed'"),
    ("letter_waits_while_failed", revived, LETTER, "state = 'open'"),
    ("letter_waits_while_failed", revived, LETTER, "state = 'triaged'"),
    ("letter_waits_while_failed", revived, LETTER, "state = 'remediated'"),
    ("letter_tells_last_failure", failed, LETTER, "error_class = 'BUG'"),
    ("letter_tells_last_failure", failed, LETTER, "stage = 'send'"),
    ("letter_tells_last_failure", failed, LETTER, "deaths = 2"),
    ("letter_tells_last_failure", failed, LETTER, "last_failure_at = last_failure_at + 1"),
    ("letter_tells_last_failure", failed, LETTER, "first_failure_at = last_failure_at + 1"),
    ("letter_tells_last_failure", mistaken_after_retry, LEDGER, "kind = 'failed'"),
    ("letter_steps_in_order", failed, LETTER, "state = 'lost'"),
    ("letter_steps_in_order", failed, LETTER, "state = 'triaged'"),
    ("letter_steps_in_order", failed, LETTER, "state = 'remediated', cause = 'data'"),
    ("letter_steps_in_order", failed, LETTER, "evidence = 'none'"),
    ("letter_steps_in_order", failed, LETTER, "resolved_at = 1"),
    ("letter_steps_in_order", failed, LETTER, "state = 'resolved', note = 'closed'"),
    ("letter_steps_in_order", revived, LETTER, "replayed_at = null"),
    ("delivery_state_is_known", intended, DELIVERY, "state = 'lost'"),
    ("delivery_state_is_known", intended, DELIVERY, "state = 'failed', error_class = 'BUG'"),
    ("delivery_state_is_known", intended, DELIVERY, "state = 'failed', error = '1'"),
    ("delivery_marked_when_sent", intended, DELIVERY, "state = 'sent'"),
    ("delivery_marked_when_sent", intended, DELIVERY, "notified_at = 1"),
    ("delivery_began_when_in_doubt", intended, DELIVERY, "state = 'sending'"),
    ("delivery_began_when_in_doubt", intended, DELIVERY, "state = 'unknown'"),
    ("delivery_leased_while_open", intended, DELIVERY, "holder = 'w'"),
    ("delivery_leased_while_open", intended, DELIVERY, "lease_until = 1"),
    (
        "delivery_leased_while_open",
        intended,
        DELIVERY,
        "holder = 'w', lease_until = 1, state = 'unknown', began_at = 1",
    ),
    (
        "waiting_for_deliveries_ends",
        waiting_for_mail,
        DELIVERY_OF_JOB,
        "state = 'unknown', began_at = 1, updated_at = 1",
    ),
    ("message_status_is_known", published, MESSAGE, "status = 'lost'"),
    ("message_status_is_known", published, MESSAGE, "status = 'published'"),
    ("message_status_is_known", published, MESSAGE, "processed_at = 1"),
    ("message_status_is_known", published, MESSAGE, "status = 'failed', processed_at = 1"),
    ("message_leased_while_pending", published, MESSAGE, "holder = 'r'"),
    ("message_leased_while_pending", published, MESSAGE, "lease_until = 1"),
    (
        "message_leased_while_pending",
        published,
        MESSAGE,
        "holder = 'r', lease_until = 1, status = 'published', processed_at = 1",
    ),
]


@pytest.fixture
def audited(shared_url: str, open_store: Callable[[str], Store]) -> Store:
    store = open_store(shared_url)
    store.migrate()
    store.save_plan(PLAN, now=NOW)
    return store


@pytest.mark.parametrize(
    "broken",
    BREAKS,
    ids=[f"{invariant}: {make.__name__} {how}" for invariant, make, _, how in BREAKS],
)
def test_a_broken_invariant_is_found(
    audited: Store, shared_url: str, broken: tuple[str, MAKES, str, str]
) -> None:
    invariant, make, statement, change = broken
    submitted(audited, run_at=after(999))
    job_id = make(audited)
    assert audited.verify(now=NOW) == []

    by_hand(shared_url, statement.format(change, job_id))

    found = {violation.invariant: violation for violation in audited.verify(now=NOW)}
    assert invariant in found
    assert found[invariant].found == 1
    assert found[invariant].sample[0] in {job_id, STRANGER}
    assert found[invariant].promise.endswith(".")


CHECKED = {
    "state_is_known",
    "lease_only_while_processing",
    "result_only_when_complete",
    "error_only_when_failed",
    "finished_only_when_ended",
    "late_result_only_after_timeout",
}


@pytest.mark.parametrize(
    "broken",
    [item for item in BREAKS if item[0] in CHECKED],
    ids=[f"{item[1].__name__} {item[3]}" for item in BREAKS if item[0] in CHECKED],
)
def test_the_table_itself_refuses_columns_that_do_not_fit_the_state(
    tmp_path: Path, open_store: Callable[[str], Store], broken: tuple[str, MAKES, str, str]
) -> None:
    """All of them on SQLite, where it costs next to nothing."""
    _, make, statement, change = broken
    url = f"sqlite:///{tmp_path / 'holdfast.db'}"
    store = open_store(url)
    store.migrate()
    job_id = make(store)
    before = store.get([job_id])

    with pytest.raises(sqlite3.IntegrityError, match="job_columns_fit_state"):
        by_hand(url, statement.format(change, job_id), unchecked=False)

    assert store.get([job_id]) == before


KEPT = [
    item
    for item in BREAKS
    if item[0]
    in {"lease_only_while_processing", "result_only_when_complete", "error_only_when_failed"}
]


@pytest.mark.parametrize("broken", KEPT, ids=[f"{item[1].__name__} {item[3]}" for item in KEPT])
def test_both_databases_refuse_a_lease_a_result_or_an_error_in_another_state(
    audited: Store, shared_url: str, broken: tuple[str, MAKES, str, str]
) -> None:
    invariant, make, statement, change = broken
    job_id = make(audited)
    before = audited.get([job_id])
    names = f"job_{invariant}|job_columns_fit_state"

    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation), match=names):
        by_hand(shared_url, statement.format(change, job_id), unchecked=False)

    assert audited.get([job_id]) == before


@pytest.mark.parametrize(
    "columns",
    [
        "holder, lease_until = 'w', 1",
        "result = '1'",
        "error, error_class = '{}', 'BUG'",
        "state = 'processing'",
        "state, finished_at = 'complete', 1",
        "state, finished_at = 'failed', 1",
    ],
)
def test_both_databases_refuse_a_new_job_that_claims_to_be_further(
    audited: Store, shared_url: str, columns: str
) -> None:
    names, _, values = columns.partition(" = ")
    statement = (
        "insert into {{job}} (id, pipeline, plan, queue, priority, owner, version, payload,"
        " created_at, stage, run_at, updated_at, {}) values"
        " ('{}', 'p', 'x', 'q', 1, '', 1, '1', 1, 's', 1, 1, {})"
    ).format(names, STRANGER, values.replace("{}", "{{}}"))

    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation), match="job_"):
        by_hand(shared_url, statement, unchecked=False)


def test_every_invariant_is_broken_by_some_test() -> None:
    broken = {f"verify_{invariant}" for invariant, *_ in BREAKS}

    for package in ("holdfast.store.sqlite", "holdfast.store.postgres"):
        names = {name for name in sqlfiles.SqlFiles(package).names() if name.startswith("verify_")}
        assert names - {"verify_database_is_sound"} == broken


def test_every_invariant_is_stated_alike_for_both_databases() -> None:
    sqlite, postgres = (
        sqlfiles.SqlFiles(f"holdfast.store.{dialect}") for dialect in ("sqlite", "postgres")
    )

    for name in sqlite.names():
        if name.startswith("verify_") and name != "verify_database_is_sound":
            assert sqlite[name].splitlines()[0] == postgres[name].splitlines()[0]


def test_many_broken_rows_are_counted_and_some_are_shown(audited: Store, shared_url: str) -> None:
    submitted(audited, 20)
    by_hand(shared_url, "update {job} set attempt = -1")

    (counters, *_) = [
        violation
        for violation in audited.verify(now=NOW)
        if violation.invariant == "counters_are_sound"
    ]

    assert counters.found == 20
    assert 0 < len(counters.sample) < 20


def test_every_path_of_a_job_keeps_the_invariants(audited: Store) -> None:
    def checked(job: Job) -> Job:
        assert audited.verify(now=job.updated_at) == []
        return job

    job = checked(started(audited, deadline_at=after(1000)))
    job = checked(after_event(audited, job, Snoozed(1), now=after(1)))
    (job,) = claim(audited, now=after(2))
    job = checked(after_event(audited, job, Failed(PASSING_FAILURE), now=after(3)))
    (job,) = claim(audited, now=after(20))
    job = checked(after_event(audited, job, Done('"x"', lease_until=after(80)), now=after(21)))
    job = checked(after_event(audited, job, Suspended(until=after(30)), now=after(22)))
    job = checked(after_event(audited, job, DeadlinePassed(), now=after(1001)))
    job = checked(after_event(audited, job, Done('"late"'), now=after(1002)))
    checked(after_event(audited, job, RetryRequested("ada"), now=after(1003)))
    (job_id,) = submitted(audited)
    job = audited.get([job_id])[job_id]
    job = checked(after_event(audited, job, Refused(LASTING_FAILURE), now=after(1)))
    job = checked(after_event(audited, job, RetryRequested("ada"), now=after(1)))
    (job,) = claim(audited, now=after(1))
    checked(after_event(audited, job, Failed(LASTING_FAILURE), now=after(1)))


def test_an_index_that_was_never_finished_is_found(
    postgres_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(postgres_url)
    store.migrate()
    by_hand(
        postgres_url,
        "update pg_index set indisvalid = false where indexrelid = 'holdfast.job_due'::regclass",
    )

    (violation,) = store.verify(now=NOW)

    assert (violation.invariant, violation.sample) == ("database_is_sound", ("job_due",))


def test_a_damaged_file_is_found(tmp_path: Path, open_store: Callable[[str], Store]) -> None:
    path = tmp_path / "holdfast.db"
    store = open_store(f"sqlite:///{path}")
    store.migrate()
    submitted(store, 2000)
    store.close()
    with path.open("r+b") as file:
        # The middle of the file holds rows and index entries; the head, which SQLite reads on
        # opening, stays.
        file.seek(path.stat().st_size // 2)
        file.write(b"\xa5" * 6000)

    store = open_store(f"sqlite:///{path}")
    found = {violation.invariant: violation for violation in store.verify(now=NOW)}

    assert "database_is_sound" in found
    assert found["database_is_sound"].sample
