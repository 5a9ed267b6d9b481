"""The file that stands in for a provider: what was sent is in it, once for each token."""

import fcntl
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.bridges.file import File
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidDocument, InvalidValue
from tests.bridges.wire import MAIL
from tests.classify import rows
from tests.classify.rows import caught, row_of
from tests.warm.process import WarmProcess

TIMEOUT_S = 5
ROOT = Path(__file__).parents[2]

SENDER = """
import sys
from holdfast.bridges.file import File

provider = File(sys.argv[1])
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    provider.send({"to": "a@b.c", "text": "x" * 5_000}, token=f"t-{number}", timeout_s=30)
    print(number, flush=True)
"""


def now() -> Instant:
    return Instant(1_900_000_000 * SECOND_US)


def test_it_drops_what_it_has_and_can_always_be_asked():
    promise = File("sent.jsonl").promise

    assert promise.dedupes_for is not None
    assert promise.dedupes_for > 10 * 365 * 86_400
    assert (promise.lookup_lag, promise.lookup_for, promise.lookup_needs_id) == (0, None, False)


def test_what_was_sent_is_a_line_that_can_be_read(tmp_path):
    echo = io.StringIO()
    provider = File(tmp_path / "sent.jsonl", echo=echo, now=now)

    first = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    second = provider.send({"url": "https://a.b/", "type": "x\x1b[2J"}, token="t-2", timeout_s=1)

    lines = [json.loads(line) for line in (tmp_path / "sent.jsonl").read_text().splitlines()]
    assert lines == provider.sent()
    assert lines[0] == {
        "id": "1",
        "token": "t-1",
        "sent_at": "2030-03-17T17:46:40.000000Z",
        "message": MAIL,
    }
    assert (first.notification_id, second.notification_id) == ("1", "2")
    assert echo.getvalue() == (
        "file 1: to Ada <ada@example.org>: Your review is ready\n"
        "file 2: to https://a.b/: x\\x1b[2J\n"
    )


def test_a_token_is_written_once_also_by_another_program(tmp_path):
    path = tmp_path / "sent.jsonl"
    first = File(path).send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    again = File(path).send(MAIL | {"text": "Another."}, token="t-1", timeout_s=TIMEOUT_S)

    assert again == first
    assert len(File(path).sent()) == 1


def test_a_lookup_finds_what_is_in_the_file_and_nothing_else(tmp_path):
    provider = File(tmp_path / "sent.jsonl")
    empty = provider.lookup(token="t-1", notification_id=None, timeout_s=TIMEOUT_S)
    sent = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert empty is None
    assert provider.lookup(token="t-1", notification_id=None, timeout_s=TIMEOUT_S) == sent
    assert provider.lookup(token="?", notification_id="1", timeout_s=TIMEOUT_S) == sent
    assert provider.lookup(token="t-2", notification_id="2", timeout_s=TIMEOUT_S) is None
    assert provider.lookup(token="t-2", notification_id=None, timeout_s=TIMEOUT_S) is None


def test_half_a_line_of_a_killed_program_was_not_sent_and_spoils_nothing(tmp_path):
    path = tmp_path / "sent.jsonl"
    provider = File(path)
    provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    whole = path.read_bytes()
    path.write_bytes(whole + whole.replace(b"t-1", b"t-2")[:40])

    lost = provider.lookup(token="t-2", notification_id=None, timeout_s=TIMEOUT_S)
    provider.send(MAIL, token="t-2", timeout_s=TIMEOUT_S)
    provider.send(MAIL, token="t-3", timeout_s=TIMEOUT_S)

    assert lost is None
    assert [line["token"] for line in provider.sent()] == ["t-1", "t-2", "t-3"]


def started(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    return WarmProcess(
        [sys.executable, "-c", SENDER, str(path), str(first), str(last)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_programs_that_send_at_once_lose_nothing_and_repeat_nothing(tmp_path):
    path = tmp_path / "sent.jsonl"
    programs = [started(path, first, first + 30) for first in (0, 10, 20)]
    for program in programs:
        program.communicate(timeout=50)

    tokens = [line["token"] for line in File(path).sent()]
    assert sorted(tokens) == sorted(f"t-{number}" for number in range(50))


def test_what_a_killed_program_had_told_is_in_the_file(tmp_path):
    path = tmp_path / "sent.jsonl"
    program = started(path, 0, 100_000)
    assert program.stdout is not None
    told = [int(program.stdout.readline()) for _ in range(20)]
    program.send_signal(signal.SIGKILL)
    # Not by `communicate`, which does not see what was read ahead of the lines above.
    with program:
        told += [int(line) for line in program.stdout]

    tokens = [line["token"] for line in File(path).sent()]
    assert set(tokens) >= {f"t-{number}" for number in told}
    assert len(tokens) == len(set(tokens)) <= len(told) + 1


def test_a_file_that_somebody_keeps_locked_is_not_waited_for_longer_than_told(tmp_path):
    path = tmp_path / "sent.jsonl"
    path.touch()
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        error = caught(File(path).send, MAIL, token="t-1", timeout_s=0.1)

    assert row_of(error) == rows.SATURATED
    assert path.read_bytes() == b""


def test_only_its_owner_may_read_the_file(tmp_path):
    File(tmp_path / "sent.jsonl").send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert (tmp_path / "sent.jsonl").stat().st_mode & 0o077 == 0


def test_a_folder_that_is_not_there_is_named_and_not_waited_for(tmp_path):
    error = caught(File(tmp_path / "no" / "sent.jsonl").send, MAIL, token="t", timeout_s=TIMEOUT_S)

    assert row_of(error) == rows.IO_STOP


def test_what_is_no_json_is_refused(tmp_path):
    provider = File(tmp_path / "sent.jsonl")

    with pytest.raises(InvalidDocument, match="message"):
        provider.check({"to": {1, 2}})
    with pytest.raises(InvalidValue, match="token"):
        provider.send(MAIL, token="", timeout_s=TIMEOUT_S)
    assert provider.sent() == []
