"""Recordings on disk, each under the hash of its content."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterable, Iterable, Iterator
from pathlib import Path
from typing import Final, Self

from grading.audio.decoding import read_audio
from grading.audio.errors import AudioDecodeError, AudioTooLarge, AudioUnavailable, NotAudio
from grading.audio.records import MAX_SECONDS, MEBIBYTE, DecodeLimits, StoredAudio
from grading.audio.sniff import container_of

DEFAULT_MAX_BYTES: Final = 25 * MEBIBYTE
_INCOMING: Final = "incoming"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_CHUNK_BYTES: Final = 256 * 1024
_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


class AudioStore:
    """Recordings by content: the same file is kept once.

    A recording has its name only when all of it is safe on disk, and is readable by its owner
    alone. Any number of threads and processes may use one folder, which the first upload makes.
    """

    def __init__(
        self,
        root: Path,
        max_bytes: int = DEFAULT_MAX_BYTES,
        max_seconds: float = MAX_SECONDS,
    ) -> None:
        self._root = root
        self._incoming = root / _INCOMING
        self.max_bytes: Final = max_bytes
        self._limits = DecodeLimits(max_seconds=max_seconds)

    def keep(self, chunks: Iterable[bytes]) -> StoredAudio:
        """Keep a recording and return what it is.

        Raises `AudioTooLarge` as soon as there are more bytes than allowed, and `NotAudio` by the
        content. A recording that is too long or too short to be graded is kept.
        """
        with self.receive() as upload:
            for chunk in chunks:
                upload.write(chunk)
            return upload.finish()

    async def keep_stream(self, chunks: AsyncIterable[bytes]) -> StoredAudio:
        """Keep a recording that arrives on an event loop; see `keep`."""
        with self.receive() as upload:
            async for chunk in chunks:
                await asyncio.to_thread(upload.write, chunk)
            return await asyncio.to_thread(upload.finish)

    def receive(self) -> Upload:
        """Return a recording to be written piece by piece, which leaves nothing unless finished."""
        self._incoming.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        return Upload(self)

    def path_of(self, sha256: str) -> Path | None:
        """Return where a recording is, None where it is not kept."""
        if not _SHA256.fullmatch(sha256):
            return None
        path = self._path(sha256)
        return path if path.is_file() else None

    def checked_path_of(self, sha256: str) -> Path | None:
        """Return where a recording is; raise `AudioUnavailable` where its content has changed."""
        path = self.path_of(sha256)
        if path is None:
            return None
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise AudioUnavailable("The recording is not the one that was handed in any more.")
        return path

    def media_type_of(self, sha256: str) -> str | None:
        """Return the media type of a recording by its first bytes, None where it is not kept."""
        path = self.path_of(sha256)
        container = None if path is None else container_of(path)
        return None if container is None else container.audio_type

    def read(self, sha256: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from `start` up to and without `end`; `FileNotFoundError` without it."""
        path = self.path_of(sha256)
        if path is None:
            raise FileNotFoundError(f"no recording {sha256[:64]}")
        with path.open("rb") as file:
            file.seek(start)
            left = None if end is None else max(end - start, 0)
            while chunk := file.read(_CHUNK_BYTES if left is None else min(_CHUNK_BYTES, left)):
                left = None if left is None else left - len(chunk)
                yield chunk

    def remove(self, sha256: str) -> bool:
        """Remove a recording; return whether there was one."""
        path = self.path_of(sha256)
        if path is None:
            return False
        path.unlink(missing_ok=True)
        _sync_folder(path.parent)
        return True

    def kept_before(self, instant_s: float) -> Iterator[str]:
        """Yield the recordings that were kept last before an instant, in seconds since 1970."""
        for path in self._root.glob("[0-9a-f][0-9a-f]/*"):
            if _SHA256.fullmatch(path.name) and _is_older(path, instant_s):
                yield path.name

    def remove_abandoned(self, instant_s: float) -> int:
        """Remove what uploads left behind that broke off before an instant; return how many."""
        stale = [path for path in self._incoming.glob("*") if _is_older(path, instant_s)]
        for path in stale:
            path.unlink(missing_ok=True)
        return len(stale)

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def _measured(self, path: Path) -> tuple[str, float]:
        """Return media type and seconds, which only decoding tells."""
        with tempfile.TemporaryDirectory(prefix="grading-audio-") as name:
            try:
                read = read_audio(path, Path(name), limits=self._limits)
            except AudioDecodeError as error:
                raise NotAudio(error.message) from error
            return read.media_type, round(read.seconds, 3)

    def _settle(self, path: Path, sha256: str) -> None:
        """Give a recording that is safe on disk its name."""
        target = self._path(sha256)
        if not target.parent.exists():
            target.parent.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            _sync_folder(self._root)
        path.replace(target)
        _sync_folder(target.parent)


class Upload:
    """A recording that is arriving. It is gone at the end of its `with`, unless finished."""

    def __init__(self, store: AudioStore) -> None:
        self._store = store
        descriptor, name = tempfile.mkstemp(dir=store._incoming)  # noqa: SLF001 - its other half
        os.fchmod(descriptor, _FILE_MODE)
        self._path = Path(name)
        self._file = os.fdopen(descriptor, "wb")
        self._hash = hashlib.sha256()
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def write(self, chunk: bytes) -> None:
        """Write the next bytes; `AudioTooLarge` where there are more than allowed."""
        self._bytes += len(chunk)
        if self._bytes > self._store.max_bytes:
            raise AudioTooLarge(self._store.max_bytes)
        self._hash.update(chunk)
        self._file.write(chunk)

    def finish(self) -> StoredAudio:
        """Keep what was written and return what it is; `NotAudio` by the content."""
        self._file.flush()
        media_type, seconds = self._store._measured(self._path)  # noqa: SLF001 - as above
        os.fsync(self._file.fileno())
        sha256 = self._hash.hexdigest()
        self._store._settle(self._path, sha256)  # noqa: SLF001 - as above
        return StoredAudio(sha256, self._bytes, media_type, seconds)


def _is_older(path: Path, instant_s: float) -> bool:
    try:
        return path.stat().st_mtime < instant_s
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
