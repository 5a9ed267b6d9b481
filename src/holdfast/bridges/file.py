"""A file in place of a provider, for development: what would have been sent can be read in it.

Its promise: the best there is. A token that is in the file is never written again, and a lookup
reads the file. It holds for as long as the file is kept, also when programs are killed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from holdfast.bridges.calls import fields
from holdfast.bridges.calls.deadline import Deadline
from holdfast.classify import ProviderError
from holdfast.classify.verdicts import SATURATED
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.document import encode
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.core.values.retry import Retry
from holdfast.redaction.printable import visible
from holdfast.runtime.deliveries.provider import Evidence
from holdfast.runtime.kernel.clock import sleep_s, wall_clock

DEDUPES_FOR_S: Final = 100 * 365 * 24 * 3600.0

_LOCK_EVERY_S: Final = 0.005


class File:
    """Appends each message to a file as a line of JSON, once per token.

    `echo` is a stream, such as `sys.stdout`, that gets a line for people as well. To stand in for
    webhooks it is `addressed_by="url"`. Every send reads the whole file: it is made for
    development, not for a million messages.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "file",
        addressed_by: str = "to",
        echo: TextIO | None = None,
        retry: Retry | None = None,
        now: Callable[[], Instant] = wall_clock,
    ) -> None:
        self.name = name
        self.addressed_by = addressed_by
        self.retry = retry
        self.promise = Promise(dedupes_for=DEDUPES_FOR_S, lookup_lag=0.0)
        self._path = Path(path)
        self._echo = echo
        self._now = now

    def check(self, message: Mapping[str, Any]) -> None:
        """Raise InvalidDocument when the message is no JSON."""
        encode(dict(message), what="message")

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Write the message, unless its token is there already."""
        fields.token(token)
        frozen = json.loads(encode(dict(message), what="message"))
        with self._locked(timeout_s) as file:
            lines = list(_lines_of(file))
            earlier = _carrying(lines, token)
            if earlier is not None:
                return earlier
            line = {
                "id": str(len(lines) + 1),
                "token": token,
                "sent_at": to_rfc3339(self._now()),
                "message": frozen,
            }
            _append(file, line)
        if self._echo is not None:
            print(_told(self.name, line), file=self._echo, flush=True)
        return Evidence(notification_id=str(line["id"]))

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        """Return the line that carries the token, or the id."""
        if not self._path.exists():
            return None
        with self._locked(timeout_s) as file:
            lines = list(_lines_of(file))
        found = _carrying(lines, token)
        if found is not None:
            return found
        ids = {line.get("id") for line in lines}
        return Evidence(notification_id) if notification_id in ids else None

    def sent(self) -> list[dict[str, Any]]:
        """Return every line of the file: `id`, `token`, `sent_at` and `message`."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            return list(_lines_of(file))

    def __repr__(self) -> str:
        return f"File({str(self._path)!r})"

    @contextmanager
    def _locked(self, timeout_s: float) -> Iterator[BinaryIO]:
        """The file, for one process at a time; only its owner may read it."""
        deadline = Deadline(timeout_s)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "rb+", buffering=0) as file:
            while not _got_lock(file):
                try:
                    sleep_s(min(_LOCK_EVERY_S, deadline.left_s()))
                except TimeoutError as error:
                    told = f"{self.name}: somebody else keeps {self._path} locked"
                    raise ProviderError(SATURATED, told) from error
            yield file


def _got_lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lines_of(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """The lines that were written to their end; a killed program may have left half a one."""
    file.seek(0)
    for line in file.read().splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "token" in found:
            yield found


def _carrying(lines: list[dict[str, Any]], token: str) -> Evidence | None:
    found = next((line for line in lines if line["token"] == token), None)
    return Evidence(notification_id=str(found.get("id"))) if found else None


def _append(file: BinaryIO, line: Mapping[str, Any]) -> None:
    """Write a line so that it stays, and that half a line before it does not spoil it."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - 1, 0))
    begins = b"" if file.read(1) in {b"", b"\n"} else b"\n"
    left = begins + json.dumps(line, ensure_ascii=False).encode() + b"\n"
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def _told(name: str, line: Mapping[str, Any]) -> str:
    message = line["message"]
    to = message.get("to") or message.get("url") or "?"
    about = message.get("subject") or message.get("type") or ""
    return visible(f"{name} {line['id']}: to {to}: {about}")
