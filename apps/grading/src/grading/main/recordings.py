"""Recordings that learners have sent: whose they are, and how they are named in links."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from grading.audio.links import AUDIO_PATH, OwnLinks, SignedLinks
from grading.audio.records import StoredAudio
from grading.main.rows import secret_of
from grading.tables.times import to_us
from holdfast import Holdfast

_KEY_NAME: Final = "audio-links"
_SECRET_BYTES: Final = 32


class Recording(NamedTuple):
    """A recording of an owner; the bytes are kept under its hash."""

    audio_id: str
    owner: str
    sha256: str
    bytes: int
    media_type: str
    seconds: float


class Recordings:
    """Keeps which recordings there are, and signs links to them."""

    def __init__(self, app: Holdfast, *, public_url: str) -> None:
        self._app = app
        self._public_url = public_url
        self._links: SignedLinks | None = None

    @property
    def links(self) -> SignedLinks:
        """What signs and checks links; the key is the same in all processes of a database."""
        if self._links is None:
            fresh = secrets.token_hex(_SECRET_BYTES)
            key = bytes.fromhex(secret_of(self._app, _KEY_NAME, fresh=fresh))
            self._links = SignedLinks(key, self._public_url)
        return self._links

    def add(self, stored: StoredAudio, *, owner: str) -> tuple[Recording, bool]:
        """Keep that an owner has sent a recording; return it, and whether it is new."""
        values: dict[str, Any] = {
            "id": str(uuid4()),
            "owner": owner,
            "sha256": stored.sha256,
            "bytes": stored.bytes,
            "media_type": stored.media_type,
            "seconds": stored.seconds or 0.0,
        }
        with self._app.transaction() as tx:
            created = tx.execute(
                "insert into grading.audio (audio_id, owner, sha256, bytes, media_type, seconds,"
                " created_at_us) values (:id, :owner, :sha256, :bytes, :media_type, :seconds,"
                " :now_us) on conflict (owner, sha256) do nothing",
                values | {"now_us": to_us(tx.now)},
            )
            row = tx.row(
                "select * from grading.audio where owner = :owner and sha256 = :sha256", values
            )
        if row is None:
            raise AssertionError("the row was inserted in this transaction")
        return _recording(row), bool(created)

    def find(self, audio_id: str, *, owner: str | None) -> Recording | None:
        """Return a recording; with `owner`, only one of theirs."""
        with self._app.transaction() as tx:
            row = tx.row("select * from grading.audio where audio_id = :id", {"id": audio_id})
        if row is None or owner not in (None, row["owner"]):
            return None
        return _recording(row)

    def url_of(self, recording: Recording) -> str:
        """Return the link to a recording that its owner is given, without a signature."""
        return OwnLinks(self._public_url).url_of(recording.audio_id)

    def id_in(self, url: str) -> str | None:
        """Return the id of the recording that a link of ours leads to; None for other links."""
        if not OwnLinks(self._public_url).owns(url):
            return None
        path = urlsplit(url).path
        base = urlsplit(self._public_url).path.rstrip("/")
        name = path.removeprefix(f"{base}{AUDIO_PATH}")
        return None if name == path or "/" in name else unquote(name)

    def signed(self, audio_id: str, *, expires_at: datetime) -> str:
        """Return a link by which a grader may read a recording until an instant."""
        return self.links.sign(audio_id, expires_at=expires_at)


def _recording(row: dict[str, Any]) -> Recording:
    return Recording(
        row["audio_id"],
        row["owner"],
        row["sha256"],
        row["bytes"],
        row["media_type"],
        float(row["seconds"]),
    )
