"""PostgreSQL for the tests: one server for the whole run, fresh databases on it, private servers.

Under xdist the controller owns the server and tells the workers its URL; without xdist it starts
when the first test asks for it.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Self

import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.postgres.databases import CopyStrategy, DisposableDatabases
from holdfast.testing.postgres.server import URL_VARIABLE, PrivatePostgres
from tests.plugins.reused_databases import ReusedDatabases, lent_databases
from tests.plugins.servers import NOT_ALLOWED, runs_without_servers


@dataclass(frozen=True)
class SharedServer:
    """The server of this run, or why there is none."""

    url: str = ""
    strategy: CopyStrategy = "wal_log"
    missing: str = ""


@dataclass
class _ServerOfThisRun:
    allowed: bool
    cleanup: ExitStack = field(default_factory=ExitStack)
    server: SharedServer | None = None

    def get(self) -> SharedServer:
        if self.server is None:
            self.server = self._provide()
        return self.server

    def _provide(self) -> SharedServer:
        if not self.allowed:
            return SharedServer(missing=NOT_ALLOWED)
        given = os.environ.get(URL_VARIABLE)
        if given:
            return SharedServer(url=given)
        try:
            private = self.cleanup.enter_context(PrivatePostgres())
        except UnavailableError as error:
            return SharedServer(missing=str(error))
        return SharedServer(url=private.url, strategy=private.copy_strategy)


_SERVER = pytest.StashKey[_ServerOfThisRun]()
_WORKER_INPUT = "holdfast_postgres"


def pytest_configure(config: pytest.Config) -> None:
    owned = config.stash[_SERVER] = _ServerOfThisRun(not runs_without_servers(config))
    told = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
    if told is not None:
        owned.server = SharedServer(**told)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_SERVER].cleanup.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Called by xdist in the controller, before it starts a worker."""
    server = node.config.stash[_SERVER].get()
    node.workerinput[_WORKER_INPUT] = vars(server)


def missing_server(reason: str) -> NoReturn:
    """Ends a test that has no server: a failure in CI, elsewhere a skip that says why."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must not skip: {reason}", pytrace=False)
    if reason == NOT_ALLOWED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_postgres(pytestconfig: pytest.Config) -> SharedServer:
    """The server of this run; tests that have none are skipped."""
    server = pytestconfig.stash[_SERVER].get()
    if server.missing:
        missing_server(server.missing)
    return server


@pytest.fixture(scope="session")
def postgres_databases(shared_postgres: SharedServer) -> Iterator[DisposableDatabases]:
    """Makes databases on the shared server: `.fresh(template=…)`, `.template(purpose, build=…)`."""
    server = shared_postgres
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    databases = DisposableDatabases(server.url, label=worker, strategy=server.strategy)
    yield databases
    databases.drop_all()


@pytest.fixture(scope="session")
def reused_databases(postgres_databases: DisposableDatabases) -> Iterator[ReusedDatabases]:
    """Lends databases with the schema and without a row."""
    yield from lent_databases(postgres_databases)


@pytest.fixture
def postgres_url(reused_databases: ReusedDatabases) -> Iterator[str]:
    """The URL of a database of this test's own, with the schema and without a row."""
    url = reused_databases.lend()
    yield url
    reused_databases.take_back(url)


@pytest.fixture
def empty_postgres_url(postgres_databases: DisposableDatabases) -> Iterator[str]:
    """The URL of a new database of this test's own, without the schema."""
    url = postgres_databases.fresh()
    yield url
    postgres_databases.use_up(url)


class RenewedPostgres(PrivatePostgres):
    """A private server that becomes a new one in less time than another takes to be made."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.stop()
        self._settings_when_new = dict(self._settings)
        self._copy(self._data, self._data_when_new)
        return self

    def renew(self) -> None:
        """Forget all that was done to the server, and start it."""
        self.stop("immediate")
        shutil.rmtree(self._data)
        self._copy(self._data_when_new, self._data)
        self._settings = dict(self._settings_when_new)
        self.start()

    @property
    def _data(self) -> Path:
        assert self._cluster is not None, "it has been closed"
        return self._cluster.data

    @property
    def _data_when_new(self) -> Path:
        return self._data.with_name("as-new")

    @staticmethod
    def _copy(files: Path, to: Path) -> None:
        subprocess.run(["cp", "--archive", files, to], check=True)


@pytest.fixture(scope="session")
def _server_to_hurt() -> Iterator[RenewedPostgres]:
    try:
        server = RenewedPostgres().__enter__()
    except UnavailableError as error:
        missing_server(str(error))
    with closing(server):
        yield server


@pytest.fixture
def postgres_server(_server_to_hurt: RenewedPostgres) -> Iterator[PrivatePostgres]:
    """A new server that no other test uses, to restart, reconfigure and stop."""
    _server_to_hurt.renew()
    yield _server_to_hurt
    _server_to_hurt.stop("immediate")
