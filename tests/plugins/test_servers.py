"""Tests that need a server are told from their fixtures, and left out of `make check`."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.plugins.servers import ROOT, TAKES_LONGER, needs_a_server, takes_longer


def item(*fixtures: str, **parameters: object) -> SimpleNamespace:
    return SimpleNamespace(fixturenames=fixtures, callspec=SimpleNamespace(params=parameters))


def test_a_test_that_uses_a_server_is_known_by_its_fixtures():
    assert needs_a_server(item("tmp_path", "postgres_url", "shared_postgres"))
    assert needs_a_server(item("amqp_url"))
    assert not needs_a_server(item("tmp_path", "sqlite_url"))


def test_a_test_on_either_database_needs_a_server_for_one_of_them():
    assert needs_a_server(item("database_url", database_url="postgres"))
    assert not needs_a_server(item("database_url", database_url="sqlite"))


def test_everything_that_is_not_read_is_there():
    assert [each for each in TAKES_LONGER if not (ROOT / each).exists()] == []
    assert takes_longer(ROOT / "tests" / "crash" / "test_zombies.py")
    assert not takes_longer(ROOT / "tests" / "core" / "test_retry.py")


@pytest.mark.slow
def test_a_run_without_servers_leaves_out_what_needs_one():
    files = ("test_owners.py", "test_through_pgbouncer.py")
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--no-servers", "--collect-only", "-q"]
        + [f"tests/engine/{file}" for file in files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "test_owners.py" in listed
    assert "[sqlite" in listed
    assert "postgres" not in listed
    assert "test_through_pgbouncer.py" not in listed
