"""What a test has printed and logged stays on its worker when it passes: nobody would read it.

The controller reads every report of every worker, and these are most of their length.
"""

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.passed:
        report.sections.clear()
    return report
