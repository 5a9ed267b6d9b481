"""What fails on our own machine, made to fail: files, memory, programs, processes, sockets."""

import asyncio
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import get_context

import pytest

from holdfast.classify import Verdict, classify, exit_code_rule
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of, stopped
from tests.classify.servers import LOOPBACK, UNKNOWN_HOST, Server, closes, resets, unused_port

CRASH = retried("WORKER_CRASH", known=False, blames=False, attempts=2)


def run(script, **options):
    return subprocess.run([sys.executable, "-c", script], check=True, **options)


def open_many_files():
    with ExitStack() as stack:
        while True:
            stack.enter_context(open(os.devnull))  # noqa: PTH123 - as plain as it gets


def test_a_full_disk():
    def write():
        with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123 - a device
            full.write(b"x")

    assert row_of(caught(write)) == rows.IO_RETRY


def test_too_many_open_files():
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        error = caught(open_many_files)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))

    assert row_of(error) == rows.IO_RETRY


def test_no_memory():
    assert row_of(caught(bytearray, 1 << 62)) == rows.IO_RETRY


def test_a_file_that_is_not_there(tmp_path):
    assert row_of(caught((tmp_path / "missing").read_bytes)) == rows.IO_STOP


def test_a_file_that_may_not_be_touched(tmp_path):
    error = caught(os.link, tmp_path, tmp_path / "another")

    assert type(error) is PermissionError
    assert row_of(error) == rows.IO_STOP


def test_a_device_that_cannot_be_read():
    def read():
        with open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - a device
            return memory.read(1)

    error = caught(read)

    assert error.errno == errno.EIO
    assert row_of(error) == rows.IO_RETRY


def test_a_program_that_takes_too_long():
    assert row_of(caught(run, "import signal; signal.pause()", timeout=0.2)) == rows.TIMEOUT


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (1, stopped("PROCESS_FAILED", known=False)),
        (65, rows.INVALID),
        (75, rows.UPSTREAM),
        (77, rows.AUTH),
    ],
)
def test_a_program_that_fails(code, row):
    assert row_of(caught(run, f"raise SystemExit({code})")) == row


def test_a_program_whose_exit_code_has_a_meaning_of_its_own():
    meanings = exit_code_rule({3: Verdict("PDF_ENCRYPTED", retryable=False)})

    row = row_of(caught(run, "raise SystemExit(3)"), [meanings])

    assert row == stopped("PDF_ENCRYPTED")


def test_a_program_that_is_killed():
    script = f"import os, signal; os.kill(os.getpid(), signal.{signal.SIGKILL.name})"

    assert row_of(caught(run, script)) == CRASH


def test_a_pool_whose_process_died():
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        error = caught(pool.submit(os._exit, 1).result)

    assert isinstance(error, BrokenProcessPool)
    assert row_of(error) == CRASH


def test_sockets_of_our_own():
    def receive(port, timeout=5.0):
        with socket.create_connection((LOOPBACK, port), timeout) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return connection.recv(1)

    with Server(lambda connection: connection.hang()) as server:
        slow = caught(receive, server.port, timeout=0.2)
    with Server(resets) as server:
        reset = caught(receive, server.port)
    refused = caught(receive, unused_port())
    unknown = caught(socket.create_connection, (UNKNOWN_HOST, 80))

    assert row_of(slow) == rows.TIMEOUT
    assert row_of(reset) == rows.NETWORK
    assert row_of(refused) == rows.UNSENT
    assert isinstance(unknown, socket.gaierror)
    assert row_of(unknown) == rows.UNSENT


def test_a_closed_pipe():
    def talk(port):
        with socket.create_connection((LOOPBACK, port), 5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            while connection.recv(100):
                pass
            while True:
                connection.sendall(b"more")

    with Server(closes) as server:
        error = caught(talk, server.port)

    assert isinstance(error, BrokenPipeError | ConnectionResetError)
    assert row_of(error) == rows.NETWORK


def test_a_time_limit_of_asyncio():
    async def wait():
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    assert row_of(caught(asyncio.run, wait())) == rows.TIMEOUT


def test_a_cancelled_task_has_not_failed():
    async def cancelled():
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as caught_error:
        asyncio.run(cancelled())

    with pytest.raises(asyncio.CancelledError):
        classify(caught_error.value, now=NOW)
