"""`holdfast erase`: counted first, done with --yes, a receipt on stdout."""

import json

from holdfast import Holdfast, JobFilter
from tests.cli.conftest import Command, error_of


def test_without_yes_it_counts_and_erases_nothing(on_app: Command, app: Holdfast, job):
    job("a", owner="ada")
    job("broken", owner="ada")

    result = on_app("erase", "--owner", "ada")

    assert result.exit_code == 0
    assert "         2  jobs\n" in result.stdout
    assert "         1  dead letters\n" in result.stdout
    assert result.stdout.endswith("Nothing was erased. Add --yes to do it.\n")
    assert app.count(JobFilter(owner="ada")) == 2


def test_with_yes_it_prints_the_receipt(on_app: Command, app: Holdfast, job):
    job("a", owner="ada")
    kept = job("b", owner="bob")

    result = on_app("erase", "--owner", "ada", "--yes", "--by", "grace", "--reason", "ticket 7")

    assert result.exit_code == 0
    receipt = json.loads(result.stdout)
    assert (receipt["rows"]["jobs"], receipt["left"], receipt["by"]) == (1, 0, "grace")
    assert app.audit(subject_kind="owner")[0].detail == receipt
    assert [view.id for view in app.jobs()] == [kept]
    assert on_app("verify").exit_code == 0


def test_what_has_not_ended_is_refused_unless_it_may_be_cancelled(on_app: Command, app: Holdfast):
    app.submit("review", {}, owner="ada")

    preview = on_app("erase", "--owner", "ada")
    refused = on_app("erase", "--owner", "ada", "--yes", "--json")
    done = on_app("erase", "--owner", "ada", "--yes", "--cancel")

    assert "1 jobs have not ended" in preview.stdout
    assert refused.exit_code == 4
    assert "have not ended" in error_of(refused)["message"]
    assert done.exit_code == 0
    assert app.jobs() == []


def test_of_somebody_unknown_nothing_is_kept(on_app: Command, app: Holdfast):
    result = on_app("erase", "--owner", "nobody")

    assert (result.exit_code, result.stdout) == (0, "Nothing is kept of this owner.\n")


def test_a_mistyped_database_is_not_created(holdfast: Command):
    result = holdfast("erase", "--owner", "ada", "--database-url", "sqlite:///nothing.db")

    assert result.exit_code == 5
    assert "there is no such file" in result.stderr


def test_without_an_app_the_installed_systems_are_asked(
    holdfast: Command, app: Holdfast, job, database_url: str, tmp_path
):
    job("a", owner="ada")

    result = holdfast("erase", "--owner", "ada", "--yes", "--database-url", database_url)

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"]["jobs"] == 1
    assert (tmp_path / "here" / "uploads").is_dir()  # the converter has looked at its files
