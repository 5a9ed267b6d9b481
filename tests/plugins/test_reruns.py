"""A test is run again only where it says why."""

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "-ptests.plugins.reruns"


def outcome_of(pytester: pytest.Pytester, text: str) -> pytest.RunResult:
    pytester.makepyfile(text)
    return pytester.runpytest_inprocess(PLUGIN, "-pno:randomly", "-pno:xdist", "-pno:cacheprovider")


FAILS_ONCE = """
import pytest
runs = []

{marker}
def test_fails_once():
    runs.append(1)
    assert len(runs) > 1
"""


def test_a_test_that_fails_is_not_run_again(pytester: pytest.Pytester) -> None:
    outcome_of(pytester, FAILS_ONCE.format(marker="")).assert_outcomes(failed=1)


def test_one_that_says_why_is_run_again_and_listed(pytester: pytest.Pytester) -> None:
    result = outcome_of(
        pytester, FAILS_ONCE.format(marker="@pytest.mark.rerun(reason='a real radio')")
    )

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 times needed: *test_fails_once: a real radio"])


@pytest.mark.parametrize("marker", ["@pytest.mark.rerun", "@pytest.mark.rerun(reason='')"])
def test_a_rerun_without_a_reason_is_refused(pytester: pytest.Pytester, marker: str) -> None:
    result = outcome_of(pytester, FAILS_ONCE.format(marker=marker))

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "a rerun needs a reason" in "".join(result.errlines + result.outlines)


def test_more_than_twenty_are_refused(pytester: pytest.Pytester) -> None:
    marker = "@pytest.mark.rerun(reason='x')\n@pytest.mark.parametrize('n', range(21))"
    result = outcome_of(pytester, FAILS_ONCE.format(marker=marker).replace("once()", "once(n)"))

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "21 tests may be run again, at most 20" in "".join(result.errlines + result.outlines)
