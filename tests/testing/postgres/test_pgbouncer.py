"""A private PgBouncer: it takes the server's users, starts anew, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.postgres.pgbouncer import PrivatePgbouncer, find_program
from tests.plugins.postgres import SharedServer, missing_server

START_AND_WAIT = """
import sys
from holdfast.testing.postgres.pgbouncer import PrivatePgbouncer

pooler = PrivatePgbouncer(sys.argv[1])
pooler.start()
print(pooler._root, flush=True)
sys.stdin.read()
"""
SOON_S = 20.0


@pytest.fixture(autouse=True)
def program() -> Path:
    try:
        return find_program()
    except UnavailableError as error:
        missing_server(str(error))


def backend(connection: psycopg.Connection) -> int:
    return connection.execute("select pg_backend_pid()").fetchone()[0]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_clients_share_the_servers_connections_by_its_mode(
    shared_postgres: SharedServer, postgres_url: str, mode: str
):
    with PrivatePgbouncer(shared_postgres.url, pool_mode=mode, pool_size=2) as pooler:
        url = pooler.url_of(postgres_url)
        with psycopg.connect(url, autocommit=True) as one, psycopg.connect(url) as other:
            shared = backend(one) == backend(other)

        assert shared is (mode == "transaction")


def test_it_starts_anew_on_its_port(shared_postgres: SharedServer, postgres_url: str):
    with PrivatePgbouncer(shared_postgres.url) as pooler:
        before = pooler.port
        pooler.restart()

        with psycopg.connect(pooler.url_of(postgres_url)) as connection:
            assert backend(connection) > 0
        assert pooler.port == before
        assert "process up" in pooler.log


def test_who_forgets_a_database_ends_its_connections(
    shared_postgres: SharedServer, postgres_url: str
):
    count = "select count(*) from pg_stat_activity where application_name = 'pooled'"
    with PrivatePgbouncer(shared_postgres.url) as pooler, psycopg.connect(postgres_url) as direct:
        url = pooler.url_of(postgres_url)
        psycopg.connect(url, application_name="pooled").close()
        with psycopg.connect(url, application_name="pooled") as client:
            client.execute("select 1")
        pooler.forget(postgres_url)

        give_up_at = time.monotonic() + SOON_S
        while direct.execute(count).fetchone() != (0,):
            direct.rollback()
            assert time.monotonic() < give_up_at
        with psycopg.connect(url) as client:
            assert client.execute("select 1").fetchone() == (1,)


@pytest.mark.slow
def test_it_ends_with_the_process_that_started_it(shared_postgres: SharedServer):
    command = [sys.executable, "-c", START_AND_WAIT, shared_postgres.url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        folder = Path(starter.stdout.readline().strip())
        assert _processes_of(folder)
        os.kill(starter.pid, signal.SIGKILL)

    give_up_at = time.monotonic() + SOON_S
    while _processes_of(folder) or folder.exists():
        assert time.monotonic() < give_up_at, "it is still there"
        time.sleep(0.05)


def _processes_of(folder: Path) -> list[str]:
    """The processes that have `folder` on their command line."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in file.read_bytes():
                found.append(file.parent.name)
        except OSError:
            continue
    return found
