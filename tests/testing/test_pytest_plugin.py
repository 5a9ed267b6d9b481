"""The fixtures of the plugin, in runs of pytest of their own."""

import subprocess
import sys

import pytest

from tests.docs.markdown import ROOT, blocks

pytest_plugins = ["pytester"]

PAGE = ROOT / "docs" / "how-to" / "testing.md"
FURTHER = """
import pathlib
import pytest
import shop

def test_the_database_and_the_clock_are_those_of_the_test(
    holdfast_app, holdfast_clock, drain, assert_submitted, scripted
):
    began = holdfast_clock.now()
    scripted("shop.charge_card", TimeoutError, ConnectionResetError, then="paid")
    shop.checkout(8)
    assert [ran.event for ran in drain()] == ["retried", "retried", "completed"]
    assert holdfast_clock.now() > began
    assert not pathlib.Path("shop.db").exists()
    with pytest.raises(AssertionError) as refusal:
        assert_submitted(shop.pay, order=7)
    assert "no job of 'pay' with {'order': 7}" in str(refusal.value)
    assert "'order': 8" in str(refusal.value)
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider", *arguments)


def test_the_page_tests_its_application_on_a_database_of_each_test(pytester: pytest.Pytester):
    files = {block.info.split(" ")[-1]: block.text for block in blocks(PAGE)}
    (pytester.path / "pytest.ini").write_text(files["ini"])
    (pytester.path / "shop.py").write_text(files["shop.py"])
    (pytester.path / "test_shop.py").write_text(files["test_shop.py"])
    pytester.makepyfile(test_further=FURTHER)

    run(pytester).assert_outcomes(passed=2)


def test_pipelines_and_factories_make_the_application(pytester: pytest.Pytester):
    pytester.makeconftest(
        """
        import pytest
        from holdfast import Holdfast, Pipeline

        shipping = Pipeline("shipping")
        shipping.stage(name="ship")(lambda job: "gone")

        def make(url, *, clock):
            return Holdfast(url, pipelines=[shipping], clock=clock, max_queued=3)

        @pytest.fixture
        def holdfast_pipelines():
            return [shipping]
        """
    )
    pytester.makepyfile(
        """
        from conftest import shipping

        def test_it_ships(holdfast_app, holdfast_url, drain, assert_submitted):
            assert holdfast_url.startswith("sqlite:///")
            job = holdfast_app.submit(shipping, {"to": "Oslo"})
            assert assert_submitted(shipping, to="Oslo").id == job.id
            drain()
            assert job.get().result == "gone"
        """
    )

    run(pytester).assert_outcomes(passed=1)
    run(pytester, "-o", "holdfast_app=conftest:make").assert_outcomes(passed=1)


def test_each_test_has_a_database_on_a_postgresql_that_is_named(
    pytester: pytest.Pytester, empty_postgres_url: str
):
    pytester.makepyfile(
        """
        import pytest

        urls = set()

        @pytest.mark.parametrize("number", [1, 2])
        def test_it_is_empty(holdfast_app, holdfast_url, number):
            assert holdfast_url.startswith("postgresql://")
            assert holdfast_app.jobs() == []
            urls.add(holdfast_url)
            assert len(urls) == number
        """
    )

    run(pytester, f"--holdfast-postgres={empty_postgres_url}").assert_outcomes(passed=2)


def test_a_run_without_its_fixtures_loads_nothing_of_holdfast():
    program = (
        "import sys, pytest_holdfast; print(sorted(m for m in sys.modules if 'holdfast' in m))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=50
    )

    assert ran.stdout.strip() == "['pytest_holdfast']"
