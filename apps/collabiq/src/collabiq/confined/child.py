"""The side that parses and cleans: one mail after the other, until the channel closes."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any, Final

from collabiq.confined.documents import READY, written
from collabiq.mail.clean import clean
from collabiq.mail.message import MailTooLarge, NotAMail
from collabiq.mail.parse import parse_mail

MAX_MEMORY_BYTES: Final = 1024 * 1024 * 1024
_MARGIN_S: Final = 5
"""Beyond the limit: who waits kills first, and this ends what nobody waits for any more."""


def main(channel: int, limit_s: int) -> None:
    """Answer what comes over a socket: a mail or a text, or why there is none."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = Connection(channel)
    connection.send_bytes(READY)
    while True:
        try:
            question = json.loads(connection.recv_bytes())
            content = connection.recv_bytes()
        except (EOFError, OSError):
            return
        _limit_cpu(limit_s + _MARGIN_S)
        connection.send_bytes(_answer(question, content))


def _limit_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _answer(question: Any, content: bytes) -> bytes:  # noqa: ANN401 - JSON
    try:
        if "subject" in question:
            found = clean(json.loads(content), subject=question["subject"])
            return b"text" + json.dumps(asdict(found)).encode()
        return b"mail" + written(parse_mail(content, own_addresses=question["own_addresses"]))
    except MailTooLarge:
        return b"size"
    except NotAMail:
        return b"none"
    except (Exception, MemoryError) as error:  # noqa: BLE001 - any failure of the parser is reported
        return b"fail" + type(error).__name__.encode()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
