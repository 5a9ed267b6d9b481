"""What is left of a mail that was forgotten, and of a mailbox that was erased."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collabiq.emails.forgetting import Forgetting
from collabiq.failures.dlq import DeadLetterQueue
from collabiq.failures.errors import ErrorRecords
from collabiq.refusals import EmailNotFound, Invalid, WrongState
from collabiq.rows import (
    add_upload,
    begin_run,
    finish_email,
    get_email,
    get_mailbox,
    get_replacement,
    get_upload,
    notice_emails,
    open_mailbox,
    set_correction,
    set_mail,
    set_replacement,
    set_status,
)
from collabiq.settings.config import Config
from holdfast import Holdfast, Pipeline, Retry
from holdfast.testing import ManualClock, drain

MAILBOX = "collab@example.com"
MAIL, OTHER = "19a3f3f856f0b4d4", "x_19a3f3f856f0b4d4"
WORDS = "Breeze-and-Harbor-confidential"


def pipelines() -> list[Pipeline]:
    """Return the pipelines of mails, each of which keeps a text and then fails."""
    made = []
    for name in ("email", "upload"):
        pipeline = Pipeline(name, retry=Retry(attempts=1))

        @pipeline.stage
        def gmail_fetch(job, email_id: str) -> dict[str, Any]:
            return {"text": f"{WORDS} {email_id}", "subject": WORDS}

        @pipeline.stage
        def gemini_extract(job, email_id: str) -> None:
            raise ValueError(f"no answer for {email_id}")

        made.append(pipeline)
    correction = Pipeline("correction")

    @correction.stage
    def match(job, extraction: dict[str, Any]) -> dict[str, Any]:
        return extraction

    return [*made, correction]


class World:
    def __init__(self, engine: Holdfast, config: Config) -> None:
        self.engine, self.config = engine, config
        self.errors = ErrorRecords(engine, config)
        self.dlq = DeadLetterQueue(engine, config, database_id=lambda: "rows")
        self.forgetting = Forgetting(engine, config)

    def failed(self, email_id: str) -> str:
        """Have a mail fail in two runs, with a correction between them; return its last job."""
        engine, ids = self.engine, dict[str, Any](email_id=email_id)
        with engine.transaction() as tx:
            open_mailbox(tx, MAILBOX)
            notice_emails(tx, [email_id], mailbox=MAILBOX, source="gmail")
            add_upload(tx, email_id, WORDS.encode())
            set_mail(
                tx, email_id, subject=WORDS, sender=WORDS, received_at=None, message_id=f"<{WORDS}>"
            )
        first = engine.submit("email", ids, key=email_id, owner=MAILBOX)
        drain(engine)
        corrected = engine.submit(
            "correction",
            ids | {"extraction": {"details": WORDS}, "by": "me"},
            key=f"{email_id}.1.first",
            owner=MAILBOX,
        )
        drain(engine)
        engine.clock.advance(1)
        second = engine.submit("email", ids, key=email_id, owner=MAILBOX, version=2, rerun=True)
        drain(engine)
        engine.clock.advance(1)
        with engine.transaction() as tx:
            begin_run(tx, email_id, job_id=second.id, version=2)
            set_correction(tx, email_id, job_id=corrected.id)
            set_replacement(tx, first.id, {"text": WORDS}, by="me")
            set_status(tx, email_id, "failed", reason="gemini_extract")
        self.dlq.sync()
        self.dlq.mirror.flush()
        return second.id

    def files(self) -> list[str]:
        return sorted(path.name for path in self.config.data_dir.glob("*/*/*.json"))

    def everything(self, *tables: str) -> str:
        """Return all that the tables of the engine and of this system hold, as one text."""
        with self.engine.transaction() as tx:
            return " ".join(str(tx.rows(f"select * from {table}")) for table in tables)


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    config = Config(email_address=MAILBOX, data_dir=tmp_path / "data")
    with Holdfast(
        database_url,
        pipelines=pipelines(),
        tables={"collabiq": "collabiq.tables"},
        clock=ManualClock(),
    ) as engine:
        made = World(engine, config)
        yield made
        made.dlq.mirror.close()


OWN = ("collabiq.email", "collabiq.upload", "collabiq.replacement")


def test_of_a_mail_that_is_forgotten_only_its_id_is_left(world: World):
    world.failed(MAIL)
    world.failed(OTHER)
    before = world.files()

    done = world.forgetting.forget(MAIL, by="me")

    left = world.files()
    assert done["email_id"] == MAIL
    assert done["jobs"] == 3
    assert done["files"] == len(before) - len(left) > 0
    assert left == [name for name in before if OTHER in name], "the other one keeps its files"
    with world.engine.transaction() as tx:
        row, other = get_email(tx, MAIL), get_email(tx, OTHER)
        assert get_upload(tx, MAIL) is None
        assert get_upload(tx, OTHER) is not None
        again = notice_emails(tx, [MAIL], mailbox=MAILBOX, source="gmail")
    assert row is not None
    assert other is not None
    assert (row.status, row.reason, row.subject, row.sender) == ("skipped", "forgotten", None, None)
    assert other.subject == WORDS
    assert again == [], "it is not taken again"
    assert [entry["email_id"] for entry in world.dlq.list()["entries"]] == [OTHER, OTHER]
    assert world.errors.list(email_id=MAIL)["errors"] == []


def test_nothing_that_a_forgotten_mail_said_is_in_the_database(world: World):
    last = world.failed(MAIL)

    world.forgetting.forget(MAIL, by="me")

    assert WORDS not in world.everything(*OWN)
    with pytest.raises(Exception, match="job"):
        world.engine.job(last)
    assert world.engine.jobs() == []


def test_a_mail_under_way_is_not_forgotten(world: World):
    with world.engine.transaction() as tx:
        notice_emails(tx, [MAIL], mailbox=MAILBOX, source="gmail")
    world.engine.submit("email", {"email_id": MAIL}, key=MAIL, owner=MAILBOX)

    with pytest.raises(WrongState):
        world.forgetting.forget(MAIL, by="me")


@pytest.mark.parametrize(
    ("given", "refusal"), [("nobody", EmailNotFound), ("../../etc", Invalid), ("", Invalid)]
)
def test_what_is_no_mail_is_refused(world: World, given, refusal):
    with pytest.raises(refusal):
        world.forgetting.forget(given, by="me")


def test_erasing_a_mailbox_leaves_nothing_of_it(world: World):
    world.failed(MAIL)
    erasers = world.engine.erasers
    world.engine.erasers = (*erasers, world.forgetting.erase)

    preview = world.engine.erase(MAILBOX, by="me", dry_run=True)
    counted = world.files()
    receipt = world.engine.erase(MAILBOX, by="me")

    assert counted != []
    assert world.files() == []
    assert preview.files["mails"] == receipt.files["mails"] == 1
    assert receipt.rows["jobs"] == 3
    assert WORDS not in world.everything(*OWN)
    with world.engine.transaction() as tx:
        assert get_email(tx, MAIL) is None
        assert get_mailbox(tx, MAILBOX) is None
        assert get_replacement(tx, MAIL) is None


def test_rows_and_files_go_when_they_are_old_enough(world: World):
    world.failed(MAIL)
    world.errors.record("old", at=datetime(2019, 1, 1, tzinfo=UTC), operation="gmail_fetch")
    with world.engine.transaction() as tx:
        finish_email(tx, MAIL, status="processed")
    kept = [name for name in world.files() if "2019" not in name]

    early = [chore() for chore in world.forgetting.chores()]
    left = world.files()
    world.engine.clock.advance(401 * 86_400)
    late = [chore() for chore in world.forgetting.chores()]

    assert (early, left) == ([0, 1], kept)
    assert late == [1, len(kept)]
    assert world.files() == []
