"""Mails as people and programs see them, and what is done to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from collabiq.config import Config
from holdfast import Holdfast


class Emails:
    """The mails that were noticed."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._engine, self._config = engine, config

    def list(
        self,
        *,
        owner: str | None = None,
        status: str | None = None,
        since: datetime | None = None,
        q: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return mails, newest first, as `emails`, and as `next` the cursor of the next page."""
        raise NotImplementedError

    def show(self, email_id: str, owner: str | None = None) -> dict[str, Any]:
        """Return all that is known of a mail; raises `EmailNotFound`."""
        raise NotImplementedError

    def process(self, email_id: str, *, by: str) -> dict[str, Any]:
        """Run a mail again from the start; raises `WrongState` while it is under way."""
        raise NotImplementedError

    def receive(self, raw: bytes, *, by: str) -> tuple[dict[str, Any], bool]:
        """Take a mail that was sent in, and return it and whether it is new."""
        raise NotImplementedError

    def correct(self, email_id: str, fields: dict[str, Any], *, by: str) -> dict[str, Any]:
        """Have a person's corrections in the row; raises `Invalid` and `WrongState`."""
        raise NotImplementedError

    def forget(self, email_id: str, *, by: str) -> dict[str, Any]:
        """Remove what is kept of a mail here; its row in Notion stays."""
        raise NotImplementedError
