"""Recordings that learners have sent: whose they are, and how they are named in links."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from grading.audio import AudioTooLarge, DecoderFailed, NotAudio
from grading.audio.links import AUDIO_PATH, OwnLinks, SignedLinks
from grading.audio.records import StoredAudio
from grading.main.rows import secret_of, take_rate
from grading.refusals import AudioTooLarge as TooLargeRefused
from grading.refusals import AudioUnchecked, NotYours, RecordingsFull, TooManyUploads
from grading.refusals import NotAudio as NotAudioRefused
from grading.tables.times import to_us
from holdfast import Holdfast

_KEY_NAME: Final = "audio-links"
_SECRET_BYTES: Final = 32


@contextmanager
def refusing_uploads() -> Iterator[None]:
    """Raise what is wrong with an upload as the refusal that its sender gets."""
    try:
        yield
    except AudioTooLarge as error:
        raise TooLargeRefused(error.max_bytes) from None
    except NotAudio as error:
        raise NotAudioRefused(error.message) from None
    except DecoderFailed as error:
        raise AudioUnchecked from error


class Recordings:
    """Keeps which recordings there are, and signs links to them."""

    def __init__(
        self, app: Holdfast, *, public_url: str, per_minute: int = 0, quota_bytes: int = 0
    ) -> None:
        self._app = app
        self._per_minute = per_minute
        self._quota_bytes = quota_bytes
        self._public_url = public_url
        self.own = OwnLinks(public_url)
        """Which links lead to this server."""
        self._links: SignedLinks | None = None

    @property
    def links(self) -> SignedLinks:
        """What signs and checks links; the key is the same in all processes of a database."""
        if self._links is None:
            fresh = secrets.token_hex(_SECRET_BYTES)
            key = bytes.fromhex(secret_of(self._app, _KEY_NAME, fresh=fresh))
            self._links = SignedLinks(key, self._public_url)
        return self._links

    def check_upload(self, owner: str) -> None:
        """Count an upload of an owner, or raise why they may not send one now."""
        with self._app.transaction() as tx:
            wait_s = take_rate(tx, owner, limit=self._per_minute, table="upload_rate")
            row = tx.row(
                "select sum(bytes) as used from grading.audio where owner = :owner",
                {"owner": owner},
            )
        if wait_s is not None:
            raise TooManyUploads(self._per_minute, retry_after_s=wait_s)
        used = 0 if row is None else int(row["used"] or 0)
        if self._quota_bytes and used >= self._quota_bytes:
            raise RecordingsFull(self._quota_bytes)

    def add(self, stored: StoredAudio, *, owner: str) -> tuple[str, bool]:
        """Keep that an owner has sent a recording; return its id, and whether it is new."""
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
                "select audio_id from grading.audio where owner = :owner and sha256 = :sha256",
                values,
            )
        if row is None:
            raise AssertionError("the row was inserted in this transaction")
        return str(row["audio_id"]), bool(created)

    def find(self, audio_id: str, *, owner: str | None) -> StoredAudio:
        """Return a recording; raise `NotYours` for another's and for none."""
        with self._app.reading() as db:
            row = db.row("select * from grading.audio where audio_id = :id", {"id": audio_id})
        if row is None or owner not in (None, row["owner"]):
            raise NotYours
        return StoredAudio(row["sha256"], row["bytes"], row["media_type"], float(row["seconds"]))

    def url_of(self, audio_id: str) -> str:
        """Return the link to a recording that its owner is given, without a signature."""
        return self.own.url_of(audio_id)

    def id_in(self, url: str) -> str | None:
        """Return the id of the recording that a link of ours leads to; None for other links."""
        if not self.own.owns(url):
            return None
        path = urlsplit(url).path
        base = urlsplit(self._public_url).path.rstrip("/")
        name = path.removeprefix(f"{base}{AUDIO_PATH}")
        return None if name == path or "/" in name else unquote(name)

    def signed(self, audio_id: str, *, expires_at: datetime) -> str:
        """Return a link by which a grader may read a recording until an instant."""
        return self.links.sign(audio_id, expires_at=expires_at)
