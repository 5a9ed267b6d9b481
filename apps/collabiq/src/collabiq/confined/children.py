"""The side that waits: children that parse, kept for the next mail, and killed in time."""

from __future__ import annotations

import atexit
import json
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection
from multiprocessing.connection import Connection
from typing import Final

from collabiq.confined.documents import READY, read
from collabiq.mail.message import Mail, MailTooLarge, NotAMail
from collabiq.mail.parse import MAX_MAIL_BYTES

LIMIT_S: Final = 5.0
AT_ONCE: Final = 4
START_S: Final = 30.0
_MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
_KIND: Final = 4


class MailUnreadable(Exception):
    """A mail cannot be parsed: it takes too long or too much memory, or ends its parser."""


class Children:
    """Parses mails in processes of their own, a few at a time, for any number of threads."""

    def __init__(self, *, at_once: int = AT_ONCE) -> None:
        self._room = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    def parse(
        self, raw: bytes, *, own_addresses: Collection[str] = (), limit_s: float = LIMIT_S
    ) -> Mail:
        """Return what a mail says, as `collabiq.mail.parse_mail` does.

        Raises `MailUnreadable` where that takes longer than the limit or ends the process.
        """
        if len(raw) > MAX_MAIL_BYTES:
            raise MailTooLarge(len(raw), limit_bytes=MAX_MAIL_BYTES)
        with self._room:
            child = self._take()
            try:
                answer = child.ask(raw, sorted(own_addresses), limit_s)
            except BaseException:
                child.kill()
                raise
            with self._lock:
                self._idle.append(child)
        return _mail_in(answer, len(raw))

    @property
    def pids(self) -> list[int]:
        """The processes that wait for a mail."""
        with self._lock:
            return [child.pid for child in self._idle]

    def close(self) -> None:
        """End the processes that wait for a mail."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()

    def _take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return _Child()
            if child.is_alive():
                return child
            child.kill()


class _Child:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
                [
                    *(sys.executable, "-m", "collabiq.confined.child"),
                    *(str(theirs.fileno()), str(math.ceil(LIMIT_S))),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        # Not of the mail's time: a busy machine starts slowly.
        if not self._connection.poll(START_S) or self._connection.recv_bytes() != READY:
            self.kill()
            raise OSError("the process that parses mails does not start")

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, raw: bytes, own_addresses: list[str], limit_s: float) -> bytes:
        try:
            self._connection.send_bytes(json.dumps(own_addresses).encode())
            self._connection.send_bytes(raw)
            if not self._connection.poll(limit_s):
                raise MailUnreadable(f"parsing this mail takes longer than {limit_s:g} seconds")
            return self._connection.recv_bytes(_MAX_ANSWER_BYTES)
        except (EOFError, OSError):
            raise MailUnreadable("parsing this mail ended the process that did it") from None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._connection.close()


def _mail_in(answer: bytes, size: int) -> Mail:
    kind, rest = answer[:_KIND], answer[_KIND:]
    match kind:
        case b"mail":
            return read(json.loads(rest))
        case b"size":
            raise MailTooLarge(size, limit_bytes=MAX_MAIL_BYTES)
        case b"none":
            raise NotAMail("this is no mail: it is empty or has no header")
        case _:
            raise MailUnreadable(f"this mail cannot be parsed: {rest.decode('ascii', 'replace')}")


_OF_THIS_PROCESS: Final = Children()
atexit.register(_OF_THIS_PROCESS.close)


def parse_confined(
    raw: bytes, *, own_addresses: Collection[str] = (), limit_s: float = LIMIT_S
) -> Mail:
    """Return what a mail says, parsed in a process that all of this one share."""
    return _OF_THIS_PROCESS.parse(raw, own_addresses=own_addresses, limit_s=limit_s)
