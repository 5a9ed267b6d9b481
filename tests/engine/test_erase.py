"""A customer is erased: everything of theirs goes, nothing of anybody else's, with a receipt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from holdfast import ConflictError, GiveUp, Holdfast, JobFilter, Pipeline
from holdfast.dead_letters import LetterFilter
from holdfast.deliveries import Notify
from holdfast.errors import InvalidValue
from holdfast.retention import Retention
from holdfast.store.tables.erasure import ErasureRows
from holdfast.testing import drain
from tests.engine.mailbox import NEITHER, OPTIONS, Mailbox

ADA, BOB = "ada@example.org", "bob@example.org"
ADA_HASH = hashlib.sha256(ADA.encode()).hexdigest()


def orders() -> Pipeline:
    made = Pipeline("orders")

    @made.stage
    def pack(job, n: int, to: str) -> int:
        if n < 0:
            raise GiveUp("NO_SUCH_ORDER", f"order {n} of {to}")
        job.publish("order.packed", {"n": n, "for": to})
        job.publish("stock.changed", {"n": n}, aggregate_id="stock")
        return n

    @made.stage
    def tell(job, n: int, to: str) -> Notify:
        return Notify(subject=f"order {n}", recipients=[to], message={"text": "packed"})

    return made


def submit(app: Holdfast, n: int, owner: str, **options: Any):
    return app.submit("orders", {"n": n, "to": owner}, owner=owner, **options)


@pytest.fixture
def app(open_app: Callable[..., Holdfast], clock) -> Iterator[Holdfast]:
    return open_app(orders(), providers=[Mailbox(clock, NEITHER)], courier=OPTIONS)


def fill(app: Holdfast, owner: str) -> None:
    """Leave something of every kind: done, failed, sent, published, replayed, removed before."""
    for n in (1, 2):
        submit(app, n, owner, key=f"order-{n}")
    dead = submit(app, -1, owner, key="order--1")
    drain(app)
    app.dead.triage(dead.id, cause="data", note=f"called {owner}", by="grace")


def select(app: Holdfast, what: str) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """Yield what a statement finds in each table that may hold something of an owner."""
    tables = ("job", "checkpoint", "ledger", "dead_letter", "delivery", "delivery_attempt")
    prefix = "holdfast_" if app.store.url.startswith("sqlite") else "holdfast."
    with app.store.transaction() as connection:
        for table in (*tables, "outbox", "kept_key", "replay", "replay_item", "audit"):
            found = connection.execute(f"select {what} from {prefix}{table}").fetchall()
            yield table, [tuple(row) for row in found]


def rows_of(app: Holdfast) -> dict[str, object]:
    """How many rows each table has; those of the record stay."""
    return {table: found for table, found in select(app, "count(*)") if table != "audit"}


def everything(app: Holdfast) -> str:
    """All that the tables hold, as text."""
    return "\n".join(str(found) for _, found in select(app, "*"))


def test_everything_of_the_owner_goes_and_nothing_of_another(app: Holdfast):
    fill(app, BOB)
    before = rows_of(app)
    fill(app, ADA)

    done = app.erase(ADA, by="grace", reason="asked to be forgotten", cancel=True)

    assert rows_of(app) == before
    assert ADA not in everything(app)
    assert BOB in everything(app)
    assert done.rows["jobs"] == 3
    assert done.rows["letters"] == 1
    assert done.rows["deliveries"] == 2
    assert done.rows["messages"] == 4
    assert done.left == 0
    assert app.verify() == []


def test_a_preview_counts_and_removes_nothing(app: Holdfast):
    fill(app, ADA)
    before = rows_of(app)

    preview = app.erase(ADA, by="grace", dry_run=True)
    assert rows_of(app) == before
    done = app.erase(ADA, by="grace", cancel=True)

    assert preview.rows["jobs"] == preview.left == 3
    assert {**preview.rows, "audit": done.rows["audit"]} == done.rows
    assert preview.dry_run
    assert not done.dry_run


def test_the_receipt_is_in_the_record_and_names_nobody(app: Holdfast):
    fill(app, ADA)

    document = app.erase(ADA, by="grace", reason="ticket 7", cancel=True).to_document()

    ended, begun = app.audit(subject_kind="owner")
    assert (ended.action, begun.action) == ("erased", "erasure_begun")
    assert (ended.done_by, ended.subject, ended.reason) == ("grace", ADA_HASH, "ticket 7")
    assert ended.detail == document
    said = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == document["sha256"]
    assert ADA not in str(document)


def test_the_record_keeps_who_did_what_and_forgets_why(app: Holdfast):
    fill(app, ADA)
    [letter] = app.dead.find(LetterFilter(owner=ADA))
    app.erase(ADA, by="grace", cancel=True)

    [entry] = app.audit(subject_kind="dead_letter", subject=letter.id)
    assert (entry.done_by, entry.action) == ("grace", "triaged")
    assert (entry.reason, entry.detail) == (None, None)


def test_jobs_that_have_not_ended_keep_it_from_beginning(app: Holdfast):
    waiting = submit(app, 1, ADA, delay=60)

    with pytest.raises(ConflictError, match="1 jobs of this owner have not ended"):
        app.erase(ADA, by="grace")
    assert waiting.get().state == "queued"
    assert app.audit(subject_kind="owner") == []
    done = app.erase(ADA, by="grace", cancel=True)

    assert (done.unended, done.left) == (0, 0)
    assert app.count(JobFilter(owner=ADA)) == 0


def test_what_is_still_to_be_sent_keeps_it_from_beginning(app: Holdfast):
    submit(app, 1, ADA)
    drain(app)

    with pytest.raises(ConflictError, match="2 deliveries or messages are still to be sent"):
        app.erase(ADA, by="grace")


def test_a_key_is_free_again_afterwards(app: Holdfast):
    first = submit(app, 1, ADA, key="order-1")
    drain(app)
    app.erase(ADA, by="grace", cancel=True)

    again = submit(app, 1, ADA, key="order-1")
    assert again.created
    assert again.id != first.id


def test_what_outlived_its_job_goes_too(app: Holdfast, clock):
    fill(app, ADA)
    fill(app, BOB)
    app.dead.resolve(
        app.dead.find(LetterFilter(owner=ADA))[0].id, note="seen", by="grace", unreplayed=True
    )
    clock.advance(10)
    app.retention = Retention(complete=1, failed=1)
    app.purge()
    assert app.count(JobFilter(owner=ADA)) == 0

    done = app.erase(ADA, by="grace", cancel=True)

    assert done.rows["deliveries"] == 2
    assert done.rows["keys"] == 3
    assert app.of_key("orders", "order-1", owner=ADA) == []
    assert len(app.of_key("orders", "order-1", owner=BOB)) == 1


def test_reruns_go_with_the_first_of_their_key(app: Holdfast):
    for version in range(1, 5):
        submit(app, 1, ADA, key="k", version=version, rerun=version > 1)
        drain(app)

    done = app.erase(ADA, by="grace", cancel=True)

    assert (done.rows["jobs"], done.left) == (4, 0)


def test_more_than_a_batch_goes(app: Holdfast):
    for _ in range(250):
        submit(app, -1, ADA)
    drain(app)
    told: list[int] = []

    done = app.erase(ADA, by="grace", told=told.append)

    assert (done.rows["jobs"], done.rows["letters"], done.left) == (250, 250, 0)
    assert sum(told) == 250
    assert max(told) <= 100


def test_files_go_before_the_rows_that_lead_to_them(app: Holdfast):
    fill(app, ADA)
    calls: list[tuple[int, bool, int]] = []

    def erase(owned, dry_run):
        calls.append((len(owned.jobs), dry_run, app.count(JobFilter(owner=ADA))))
        assert all(view.job.owner == ADA and owned.made(view.id) for view in owned.jobs)
        return {"files": len(owned.jobs)}

    app.erasers = (erase,)
    done = app.erase(ADA, by="grace", cancel=True)

    assert done.files == {"files": 3}
    assert calls == [(3, True, 3), (0, True, 3), (3, False, 3), (0, False, 0)]


class Broken(Exception):
    pass


class Breaking:
    """Statements that are run as they are, until one raises in place of a kill."""

    def __init__(self, real: Any, left: list[int]) -> None:
        self._real, self._left = real, left

    def rows(self, statement, values):
        self._reach()
        return self._real.rows(statement, values)

    def count(self, statement, values):
        self._reach()
        return self._real.count(statement, values)

    def transact(self, work, **given):
        return self._real.transact(lambda steps: work(Breaking(steps, self._left)), **given)

    def _reach(self) -> None:
        self._left[0] -= 1
        if self._left[0] == 0:
            raise Broken


def test_broken_off_at_any_statement_and_repeated_it_is_complete(app: Holdfast):
    fill(app, BOB)
    before = rows_of(app)
    whole = app.store.erasure
    number, broken = 0, True
    while broken:
        number += 1
        fill(app, ADA)
        app.store.erasure = ErasureRows(Breaking(whole._sql, [number]))
        with suppress(Broken):
            app.erase(ADA, by="grace", cancel=True)
            broken = False
        app.store.erasure = whole

        assert app.verify() == []
        app.erase(ADA, by="grace", cancel=True)
        assert rows_of(app) == before

    assert number > 20


@pytest.mark.parametrize("owner", ["", "x" * 300, "a\x00b"])
def test_an_owner_that_cannot_be_is_refused(app: Holdfast, owner: str):
    with pytest.raises(InvalidValue):
        app.erase(owner, by="grace")


def test_of_an_unknown_owner_nothing_goes(app: Holdfast):
    fill(app, BOB)

    done = app.erase(ADA, by="grace")

    assert (done.rows, done.files, done.left) == ({}, {}, 0)
