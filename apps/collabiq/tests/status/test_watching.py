"""The watch of the mailbox: asked for daily, and no trouble where it fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.gmail.mailbox import Mailbox
from collabiq.failures.errors import ErrorRecords
from collabiq.inbox.watching import Watching
from collabiq.rows import get_mailbox, open_mailbox, refuse_grant
from collabiq.settings.config import Config
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.serving import Serving
from holdfast import Holdfast
from holdfast.testing import ManualClock

TOPIC = "projects/p/topics/mails"
DAY_S = 86_400


class World:
    def __init__(self, engine: Holdfast, config: Config, gmail: Mailbox) -> None:
        self.engine, self.config, self.gmail = engine, config, gmail
        self.errors = ErrorRecords(engine, config)
        self.watching = Watching(engine, config, gmail.api, errors=self.errors)
        with engine.transaction() as tx:
            open_mailbox(tx, config.mailbox)

    def renewed_after(self, seconds: float) -> bool:
        self.engine.clock.advance(seconds)
        return self.watching.renew()

    @property
    def watches(self) -> list[str]:
        return self.gmail.stand_in.watches


@pytest.fixture
def world(sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    config = Config(
        email_address="collab@example.com", gmail_topic=TOPIC, data_dir=tmp_path / "data"
    )
    with (
        Serving(GmailStandIn()) as serving,
        Holdfast(sqlite_url, tables={"collabiq": "collabiq.tables"}, clock=ManualClock()) as engine,
    ):
        gmail = Mailbox(serving.stand_in, serving, tmp_path)
        yield World(engine, config, gmail)
        gmail.close()


def test_a_watch_is_renewed_every_day_by_one_of_many_workers(world: World):
    other = Watching(world.engine, world.config, world.gmail.api)

    first = [world.watching.renew(), other.renew()]
    within = [world.renewed_after(DAY_S - 1), other.renew()]
    later = [world.renewed_after(2), other.renew()]

    assert (first, within, later) == ([True, False], [False, False], [True, False])
    assert world.watches == [TOPIC, TOPIC]
    with world.engine.transaction() as tx:
        row = get_mailbox(tx, world.config.mailbox)
    assert row is not None
    assert row.watched_until is not None


def test_a_watch_that_fails_is_recorded_once_and_tried_again_after_a_while(world: World):
    world.gmail.serving.fault = "forbidden"

    tries = [world.watching.renew(), world.renewed_after(60), world.renewed_after(600)]
    world.gmail.serving.fault = None
    mended = world.renewed_after(601)

    assert (tries, mended) == ([False, False, False], True)
    assert len(world.gmail.serving.asked("POST", "/watch")) == 3
    (record,) = world.errors.list()["errors"]
    assert (record["severity"], record["category"]) == ("WARNING", "CRITICAL")
    assert "polled all the same" in record["message"]


def test_refused_credentials_are_not_used_for_a_watch(world: World):
    with world.engine.transaction() as tx:
        refuse_grant(tx, world.config.mailbox, "fingerprint")

    assert world.watching.renew() is False
    assert world.gmail.serving.calls == []


def test_nothing_is_watched_without_a_topic(world: World):
    quiet = Watching(world.engine, Config(email_address="collab@example.com"), world.gmail.api)

    assert quiet.renew() is False
    assert world.watches == []
