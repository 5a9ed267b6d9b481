"""The system as routes and pages need it: mails are sent in, and drained where a test says so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.collabiq.tests.world import START, World, open_world
from collabiq.samples import ADDRESS, mailbox
from holdfast.testing import drain

MAILBOX = ADDRESS
PUSH_SECRET = "a-secret-of-pub-sub-that-is-long"


class System:
    """Collabiq, its engine, and Notion as it finds it."""

    def __init__(self, world: World) -> None:
        self.world, self.collabiq, self.engine = world, world.system, world.engine
        self.serving = world.notion.serving
        """Notion; its `fault` says how it misbehaves."""

    def send(self, name: str, *, work: bool = True) -> str:
        """Send a sample mail in, have it processed, and return its id."""
        found, _ = self.collabiq.emails.receive(raw_of(name), by="test")
        if work:
            drain(self.engine)
        return str(found["email_id"])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows that Notion has."""
        return self.world.pages()


def raw_of(name: str) -> bytes:
    """Return the bytes of a sample mail."""
    return next(sample.raw for sample in mailbox() if sample.name == name)


@contextlib.contextmanager
def running(database_url: str, folder: Path, *, start: datetime = START) -> Iterator[System]:
    """Yield the system with the offline extractor, on stand-ins of its own."""
    settings = {"GMAIL_NOTIFICATION_SECRET": PUSH_SECRET, "NOTION_LOOKUP_LAG_MS": "0"}
    with open_world(database_url, folder, start=start, **settings) as world:
        yield System(world)
