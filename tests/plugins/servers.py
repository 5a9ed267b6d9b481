"""Runs without a server, for `make check`: `--no-servers` leaves out every test that needs one.

Whether a test needs PostgreSQL, RabbitMQ, PgBouncer or a browser follows from the fixtures that it
uses, and from the database that it was parametrized with. A server that a test needs all the same
is not started: the test fails. Of a store's test on SQLite in memory and in a file, the one in
memory runs. Files whose tests start programs or servers of ours, or fill a database, are not even
read: that takes longer than running what is left.
"""

from pathlib import Path

import pytest

from tests.plugins.order import LOADS_SDKS

OPTION = "--no-servers"
NOT_ALLOWED = "this test needs a server, and --no-servers has not recognised that"
SERVERS = frozenset(
    (
        *("shared_postgres", "_server_to_hurt"),
        *("amqp_url", "_broker_to_hurt"),
        *("pgbouncer", "browser"),
    )
)
"""Fixtures that stand for a server; what is built on one of them needs it too."""
LEFT_OUT = frozenset(("postgres", "sqlite-file"))
"""What a parameter is where a fixture takes `postgres_url` by its name, or a twin runs."""
TAKES_LONGER = (
    *("tests/api", "tests/bench", "tests/bridges", "tests/cli", "tests/console", "tests/crash"),
    *("tests/deployed", "tests/examples", "tests/lab", "tests/testing", "tests/warm"),
    *("tests/docs/test_demo.py", "tests/docs/test_examples.py"),
    *("tests/docs/test_pages.py", "tests/docs/test_tutorial.py"),
    *(
        "tests/store/statements/test_query_plans.py",
        "tests/store/statements/test_delivery_plans.py",
    ),
    *("tests/store/statements/test_tail_plans.py", "tests/store/statements/test_writing_plans.py"),
    "tests/store/statements/test_attention_plans.py",
    *("tests/store/test_matches_model.py", "tests/store/schema/test_old_workers.py"),
    *("tests/store/schema/test_migrations.py", "tests/store/sqlite/test_sharing.py"),
    *("tests/store/sqlite/test_trouble.py", "tests/redaction/test_redaction_time.py"),
    *("tests/runtime/kernel/test_failpoint.py", "tests/runtime/kernel/test_process_tuning.py"),
    *("tests/runtime/lanes/test_process_lane.py", "tests/classify/test_libraries.py"),
    *("tests/classify/test_sdks.py", "tests/classify/test_smtp.py"),
    *("tests/classify/test_http_clients.py", "tests/classify/test_http_client_ways.py"),
    *("tests/plugins", *LOADS_SDKS),
    "apps",
)
ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="leave out the tests that need a server")


def runs_without_servers(config: pytest.Config) -> bool:
    """Return whether no server may be started in this run."""
    return bool(config.getoption(OPTION))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if runs_without_servers(config) and takes_longer(collection_path):
        return True
    return None  # the others decide


def takes_longer(path: Path) -> bool:
    """Return whether a file or folder is among those that are not read."""
    return path.is_relative_to(ROOT) and str(path.relative_to(ROOT)).startswith(TAKES_LONGER)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not runs_without_servers(config):
        return
    left_out = [item for item in items if needs_a_server(item)]
    config.hook.pytest_deselected(items=left_out)
    needed = set(left_out)
    items[:] = [item for item in items if item not in needed]


def needs_a_server(item: pytest.Item) -> bool:
    """Return whether a test uses a server or has a twin that runs, by fixtures and parameters."""
    if SERVERS.intersection(getattr(item, "fixturenames", ())):
        return True
    parameters = getattr(item, "callspec", None)
    given = () if parameters is None else parameters.params.values()
    # Only texts are compared: the parameters of some tests are objects that do not bear it.
    return any(type(each) is str and each in LEFT_OUT for each in given)
