"""Which tests run on the same worker, and which begin.

The tests of a file stay together, so that what they share is made once. So do all that hurt a
broker, whose start takes longer than most of them. What waits for processes and real time begins,
then come the largest files: no worker is left alone with one of them at the end.
"""

from collections import Counter
from collections.abc import Sequence

import pytest
from xdist.scheduler import LoadFileScheduling

HURTS_A_BROKER = (
    "tests/bridges/test_rabbitmq.py",
    "tests/bridges/test_rabbitmq_consumer_outages.py",
    "tests/bridges/test_relay_to_rabbitmq.py",
    "tests/crash/test_broker_restarts.py",
    "tests/crash/test_relays.py",
    "tests/crash/under_celery/test_outages.py",
    "tests/testing/test_rabbitmq_server.py",
)
TAKES_LONG = (
    *("tests/crash/", "tests/docs/", "apps/"),
    *("tests/api/", "tests/bridges/", "tests/cli/", "tests/console/", "tests/testing/"),
)
MANY = 150


class TogetherByFile(LoadFileScheduling):
    """Gives a worker a file at a time, and one worker all that hurt a broker."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "hurts a broker" if file in HURTS_A_BROKER else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> LoadFileScheduling | None:
    """Called by xdist in the controller; other ways to distribute are left to it."""
    return TogetherByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes long first; within that the order stays random."""
    if hasattr(config, "workerinput"):
        items[:] = long_ones_first(items)


def long_ones_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    files = [item.nodeid.partition("::")[0] for item in items]
    many = {file for file, count in Counter(files).items() if count >= MANY}

    def rank(file: str) -> int:
        if file in HURTS_A_BROKER:
            return 0
        if file.startswith(TAKES_LONG):
            return 1
        return 2 if file in many else 3

    ranked = sorted(range(len(items)), key=lambda place: rank(files[place]))
    return [items[place] for place in ranked]
