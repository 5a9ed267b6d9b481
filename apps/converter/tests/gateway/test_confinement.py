"""What the process that reads a stranger's file is able to do, seen by a program in its place."""

import json
import os
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from apps.converter.tests.gateway import scripted_poppler
from apps.converter.tests.gateway.pdf_maker import plain
from apps.converter.tests.gateway.running_gateway import running_gateway
from apps.converter.tests.gateway.schemas import texts, validated
from converter.gateway import EngineFailed, Limits, Reason, Refused, TimedOut, convert
from converter.gateway.conversion import Engine
from converter.gateway.limits import MEBIBYTE

NAMESPACE = Path("/proc/self/ns/net")


@pytest.fixture
def scripted(tmp_path, monkeypatch, any_engine):
    """Converts a good file with a program that a test has written in place of pdftohtml."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    pdf = tmp_path / "file.pdf"
    pdf.write_bytes(plain(["By pdfminer"]))

    def scripted(body: str, **limits: int) -> str:
        scripted_poppler.install(tmp_path, monkeypatch, body)
        try:
            xml = convert(pdf, "text", Limits(**limits), engine=Engine.POPPLER)
        finally:
            assert list(folder.iterdir()) == []
        return "\n".join(texts(validated(xml, "text"), "line"))

    return scripted


def test_it_sees_nothing_of_the_environment(scripted, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    seen = scripted("say(repr(dict(os.environ)) + '!' + repr(sys.stdin.read()))")

    environment, _, stdin = seen.rpartition("!")
    assert "hunter2" not in environment
    assert "DATABASE_PASSWORD" not in environment
    assert "converter-" in environment
    assert stdin == "''"


def test_it_has_no_files_open_but_its_own(scripted, tmp_path):
    with (tmp_path / "secret").open("wb") as held:
        os.set_inheritable(held.fileno(), True)  # noqa: FBT003 - the standard library's own
        seen = scripted("say(' '.join(sorted(os.listdir('/proc/self/fd'))))")

    # The last one is the listing itself.
    assert seen.split() == ["0", "1", "2", "3"]


def test_it_is_bound_to_every_limit(scripted):
    seen = scripted(
        "import json, resource as r\n"
        "kinds = ['CORE', 'CPU', 'AS', 'FSIZE', 'NOFILE']\n"
        "say(json.dumps({k: r.getrlimit(getattr(r, 'RLIMIT_' + k)) for k in kinds}))",
        cpu_s=7,
        memory_bytes=300 * MEBIBYTE,
        max_xml_bytes=MEBIBYTE,
    )

    assert json.loads(seen) == {
        "CORE": [0, 0],
        "CPU": [7, 8],
        "AS": [300 * MEBIBYTE] * 2,
        "FSIZE": [34 * MEBIBYTE] * 2,
        "NOFILE": [64, 64],
    }


def test_it_reaches_no_network(scripted):
    allowed = subprocess.run(["unshare", "--map-root-user", "--net", "true"], check=False)
    if allowed.returncode != 0:
        pytest.skip("this kernel lets this user make no namespaces")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        seen = scripted(
            f"s = socket.socket(); found = s.connect_ex(('127.0.0.1', {port}))\n"
            "say(f\"{found} {os.readlink('/proc/self/ns/net')}\")"
        )

    code, namespace = seen.split()
    assert namespace != str(NAMESPACE.readlink())
    assert int(code) != 0


def test_one_that_does_not_end_is_killed_with_all_it_has_started(scripted, tmp_path):
    note = tmp_path / "processes"
    with pytest.raises(TimedOut):
        scripted(
            "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{other.pid}}')\n"
            "time.sleep(600)",
            wall_s=3,
        )

    _until_gone(note)


def test_one_that_fills_the_disk_is_stopped(scripted):
    with pytest.raises(Refused) as refused:
        scripted(
            "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwhile True: os.write(1, b' ' * 2**20)",
            max_xml_bytes=1,
        )

    assert refused.value.reason is Reason.RESULT_TOO_LARGE


def test_one_that_crashes_blames_the_file(scripted):
    with pytest.raises(Refused) as refused:
        scripted("os.kill(os.getpid(), signal.SIGSEGV)")

    assert refused.value.reason is Reason.BROKEN


def test_one_that_somebody_kills_is_not_the_files_fault(scripted):
    with pytest.raises(EngineFailed) as failed:
        scripted("os.kill(os.getpid(), signal.SIGKILL)")

    assert "SIGKILL" in failed.value.detail
    assert "SIGKILL" not in str(failed.value)


def test_one_that_runs_out_of_memory_blames_the_file(scripted):
    with pytest.raises(Refused) as refused:
        scripted("sys.stderr.write('Out of memory'); sys.exit(1)")

    assert refused.value.reason is Reason.TOO_COSTLY


def test_a_file_that_poppler_tells_wrongly_of_is_read_by_pdfminer(scripted):
    assert scripted("print('<pdf2xml><page></pdf2xml>')") == "By pdfminer"


def test_a_gateway_that_is_killed_takes_its_conversions_along(tmp_path, monkeypatch, any_engine):
    note = tmp_path / "processes"
    scripted_poppler.install(
        tmp_path,
        monkeypatch,
        f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}')\ntime.sleep(600)",
    )
    with running_gateway(tmp_path, Engine.POPPLER) as gateway:
        asking = threading.Thread(target=_ask, args=[gateway])
        asking.start()
        _until(lambda: note.exists() and len(note.read_text().split()) == 2)
        gateway.process.send_signal(signal.SIGKILL)
        asking.join()

    _until_gone(note)


def _ask(gateway) -> None:
    with suppress(httpx2.TransportError):
        gateway.convert(plain())


def _until_gone(note: Path) -> None:
    processes = note.read_text("utf-8").split()
    assert len(processes) == 2
    _until(lambda: not any(_runs(process) for process in processes))


def _runs(process: str) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
    # What has ended stays listed until its parent has asked for it.
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _until(condition) -> None:
    waiting = threading.Event()
    for _ in range(1_500):
        if condition():
            return
        waiting.wait(0.02)
    pytest.fail("it did not happen in time")
