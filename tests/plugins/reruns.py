"""No test is run again, but for those that carry a marker of their own with the reason.

`@pytest.mark.rerun(reason="…")` gives a test two more runs. There are at most `MAX_MARKED` of them,
and the end of a run lists each, with how often it was needed.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

MAX_MARKED = 20
MAX_RERUNS = 2
_REASONS = pytest.StashKey[dict[str, str]]()
_WORKER_OUTPUT = "holdfast_reruns"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rerun(reason): may be run again when it fails, and why")
    config.stash[_REASONS] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons = config.stash[_REASONS]
    reasons.update(reasons_of(items))
    if len(reasons) > MAX_MARKED:
        raise pytest.UsageError(
            f"{len(reasons)} tests may be run again, at most {MAX_MARKED}: find their causes"
        )
    for item in items:
        if item.nodeid in reasons:
            item.add_marker(pytest.mark.flaky(reruns=MAX_RERUNS))


def reasons_of(items: Iterable[pytest.Item]) -> dict[str, str]:
    """Return why each marked test may be run again; raise for one that does not say."""
    reasons = {}
    for item in items:
        marker = item.get_closest_marker("rerun")
        if marker is None:
            continue
        reason = marker.kwargs.get("reason")
        if not reason:
            raise pytest.UsageError(f"{item.nodeid}: a rerun needs a reason")
        reasons[item.nodeid] = reason
    return reasons


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the reasons of an xdist worker, which collects, to the controller, which reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_WORKER_OUTPUT] = session.config.stash[_REASONS]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error: object) -> None:
    """Called by xdist in the controller, when a worker has ended."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[_REASONS].update(output.get(_WORKER_OUTPUT, {}))


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    reasons = config.stash[_REASONS]
    needed = Counter(report.nodeid for report in terminalreporter.stats.get("rerun", ()))
    if not reasons:
        return
    terminalreporter.section("tests that may be run again")
    for name, reason in sorted(reasons.items()):
        terminalreporter.line(f"{needed[name]} times needed: {name}: {reason}")
