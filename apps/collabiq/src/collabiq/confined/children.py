"""The side that waits: children that read mails, kept for the next one, and killed in time."""

from __future__ import annotations

import atexit
import json
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from multiprocessing.connection import Connection
from typing import Any, Final

from collabiq.confined.documents import READY, read
from collabiq.mail.clean import Cleaned, Removed
from collabiq.mail.message import Mail, MailTooLarge, NotAMail
from collabiq.mail.parse import MAX_MAIL_BYTES

LIMIT_S: Final = 5.0
AT_ONCE: Final = 4
START_S: Final = 30.0
_MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
_KIND: Final = 4


class MailUnreadable(Exception):
    """A mail cannot be read: it takes too long or too much memory, or ends what reads it."""


class Children:
    """Reads mails in processes of their own, a few at a time, for any number of threads."""

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
        question = {"own_addresses": sorted(own_addresses)}
        return _mail_in(self._ask("parsing", question, raw, limit_s), len(raw))

    def clean(self, text: str, *, subject: str = "", limit_s: float = LIMIT_S) -> Cleaned:
        """Return what a mail says itself, as `collabiq.mail.clean` does.

        Raises `MailUnreadable` where that takes longer than the limit or ends the process.
        """
        answer = self._ask("cleaning", {"subject": subject}, json.dumps(text).encode(), limit_s)
        return _cleaned_in(answer)

    def _ask(self, work: str, question: Mapping[str, Any], content: bytes, limit_s: float) -> bytes:
        with self._room:
            child = self._take()
            try:
                answer = child.ask(work, question, content, limit_s)
            except BaseException:
                child.kill()
                raise
            with self._lock:
                self._idle.append(child)
        return answer

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

    def ask(self, work: str, question: Mapping[str, Any], content: bytes, limit_s: float) -> bytes:
        try:
            self._connection.send_bytes(json.dumps(question).encode())
            self._connection.send_bytes(content)
            if not self._connection.poll(limit_s):
                raise MailUnreadable(f"{work} this mail takes longer than {limit_s:g} seconds")
            return self._connection.recv_bytes(_MAX_ANSWER_BYTES)
        except (EOFError, OSError):
            raise MailUnreadable(f"{work} this mail ended the process that did it") from None

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


def _cleaned_in(answer: bytes) -> Cleaned:
    kind, rest = answer[:_KIND], answer[_KIND:]
    if kind != b"text":
        raise MailUnreadable(f"this mail cannot be cleaned: {rest.decode('ascii', 'replace')}")
    document = json.loads(rest)
    return Cleaned(**document | {"removed": tuple(Removed(**one) for one in document["removed"])})


_OF_THIS_PROCESS: Final = Children()
atexit.register(_OF_THIS_PROCESS.close)


def parse_confined(
    raw: bytes, *, own_addresses: Collection[str] = (), limit_s: float = LIMIT_S
) -> Mail:
    """Return what a mail says, parsed in a process that all of this one share."""
    return _OF_THIS_PROCESS.parse(raw, own_addresses=own_addresses, limit_s=limit_s)


def clean_confined(text: str, *, subject: str = "", limit_s: float = LIMIT_S) -> Cleaned:
    """Return what a mail says itself, found in a process that all of this one share."""
    return _OF_THIS_PROCESS.clean(text, subject=subject, limit_s=limit_s)
