"""Which tests run on the same worker, and which begin.

The tests of a file stay together, so that what they share is made once. So do all that hurt a
broker, whose start takes longer than most of them, and all that load the SDKs of model providers,
which takes seconds: they begin. Files that wait for processes and
real time alternate with files that compute, so that no processor waits with them. What takes
longest comes first on either side: no worker is left alone with it at the end.
"""

import itertools
from collections.abc import Mapping, Sequence

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

HURTS_A_BROKER = (
    "tests/bridges/test_rabbitmq.py",
    "tests/bridges/test_rabbitmq_consumer_outages.py",
    "tests/bridges/test_relay_to_rabbitmq.py",
    "tests/crash/test_broker_restarts.py",
    "tests/crash/test_relays.py",
    "tests/crash/under_celery/test_outages.py",
    "tests/testing/rabbitmq/test_server.py",
)
LOADS_SDKS = (
    "apps/collabiq/tests/extract/test_gemini.py",
    "apps/criticizer/tests/reviewers/test_models.py",
    "apps/criticizer/tests/reviewers/test_open.py",
    "apps/criticizer/tests/reviewers/test_parts.py",
    "apps/grading/tests/speech/test_openai.py",
    "apps/grading/tests/speech/test_stand_in.py",
    "tests/classify/test_language_models.py",
    "tests/classify/test_refusal.py",
    "tests/classify/test_system_tables.py",
)
TOGETHER = (HURTS_A_BROKER, LOADS_SDKS)
UNIT_OF = {file: files[0] for files in TOGETHER for file in files}
"""What a worker is given for a file: the first of those that stay together."""
WAITS_LONG = ("tests/crash/", "tests/docs/", "apps/")
TAKES_LONG = (
    *("tests/api/routes/operating/test_schema.py", "tests/bench/", "tests/console/browser/"),
    *("tests/mutants/", "tests/store/sqlite/test_sharing.py", "tests/store/test_matches_model.py"),
    *("tests/testing/postgres/test_server.py", "tests/testing/postgres/test_reused_databases.py"),
)
"""Ten seconds and more in one file of few tests; taken last, it would be waited for alone."""
WAITS = ("tests/api/", "tests/bridges/", "tests/cli/", "tests/console/", "tests/testing/")
MANY = 150


class Collected(list[str]):
    """The names of tests, found by name as fast as by place."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._places = {name: place for place, name in enumerate(names)}

    def index(self, name: str, *_: object) -> int:
        return self._places[name]


class TogetherByFile(LoadFileScheduling):
    """Gives a worker a file at a time, and one worker all files that stay together.

    What it is given and what it has done is looked up, where xdist searches through all tests: that
    took more than half of the controller's time.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return UNIT_OF.get(file, file)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        self.registered_collections[node] = Collected(collection)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget a test that has ended, so that counting those that wait counts no others."""
        name = self.registered_collections[node][item_index]
        unit = self._split_scope(name)
        waiting = self.assigned_work[node][unit]
        del waiting[name]
        if not waiting:
            del self.assigned_work[node][unit]
        self._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> LoadFileScheduling | None:
    """Called by xdist in the controller; other ways to distribute are left to it."""
    return TogetherByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files in order; what the order leaves open stays random."""
    if hasattr(config, "workerinput"):
        found: dict[str, list[pytest.Item]] = {}
        for item in items:
            found.setdefault(item.nodeid.partition("::")[0], []).append(item)
        sizes = {file: len(tests) for file, tests in found.items()}
        items[:] = [item for file in in_order(sizes) for item in found[file]]


def in_order(sizes: Mapping[str, int]) -> list[str]:
    """Return the files, given how many tests each has, as workers shall take them."""
    begin = [file for files in TOGETHER for file in files if file in sizes]
    waiting, computing = [], []
    for file in sizes:
        if file in begin:
            continue
        if file.startswith(WAITS_LONG + WAITS):
            waiting.append(file)
        else:
            computing.append(file)
    waiting.sort(key=lambda file: not file.startswith(WAITS_LONG + TAKES_LONG))
    computing.sort(key=lambda file: not file.startswith(TAKES_LONG) and sizes[file] < MANY)
    alternating = itertools.chain.from_iterable(itertools.zip_longest(waiting, computing))
    return [*begin, *filter(None, alternating)]
