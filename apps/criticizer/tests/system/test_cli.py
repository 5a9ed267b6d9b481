"""`criticizer review`: a review from a terminal, with nothing else running."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from criticizer.cli import main
from holdfast.bridges.file import File
from tests.warm.process import run

LEFT = "<" * 7 + " ours\n"
"""What a merge leaves behind, made here so that no tool takes this file for one."""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a commit that is fine and one after it that is not."""
    folder = tmp_path / "repository"
    folder.mkdir()

    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    commit(folder, "Begin", "knots = 1\n")
    commit(folder, "Add ends", "knots = 1\nends = 2\n")
    commit(folder, "Leave a conflict", f"knots = 1\n{LEFT}ends = 2\n")
    monkeypatch.chdir(folder)
    for name in ("LLM_BASE_URL", "LLM_API_KEY", "LLM_PROVIDER", "CHANGES_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAIL_FILE", str(tmp_path / "mail.jsonl"))
    return folder


def commit(folder, title, text):
    (folder / "rope.py").write_text(text)
    for arguments in (["add", "-A"], ["commit", "-q", "-m", title]):
        subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments],
            cwd=folder,
            check=True,
        )


def review(*arguments):
    return CliRunner().invoke(main, ["review", *arguments])


def test_a_change_without_errors_ends_with_0_and_says_who_read_it(repository):
    told = review("HEAD~2..HEAD~1")

    assert told.exit_code == 0, told.output
    assert "1 file, +1 -0" in told.stdout
    assert "Reviewed by offline." in told.stdout


def test_a_change_with_an_error_ends_with_1_and_names_its_place(repository):
    told = review("HEAD~1..HEAD")

    assert told.exit_code == 1
    assert "rope.py:2" in told.stdout


def test_for_programs_each_finding_is_one_line_with_advice_below_it(repository):
    commit(repository, "Print", "print(1)\n")

    lines = review("HEAD").stdout.splitlines()

    said = "info    rope.py:1  This prints, which looks like a trace of debugging."
    assert lines[lines.index(said) + 1] == "        Log it, or take it out."


def test_a_failure_is_told_by_a_program_in_one_line_and_nothing_of_the_engines(repository):
    told = run(
        [sys.executable, "-m", "criticizer", "review", "nothing-like-that"],
        capture_output=True,
        text=True,
    )

    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "the repository has no nothing-like-that\n"


def test_as_json_it_is_one_document(repository):
    told = json.loads(review("HEAD", "--json").stdout)

    assert told["state"] == "complete"
    assert told["review"]["critique"]["findings"][0]["severity"] == "error"


def test_whoever_is_named_is_told_and_nobody_else(repository, tmp_path):
    review("HEAD", "--to", "ada@example.org", "--to", "ada@example.org")

    assert [line["message"]["to"] for line in File(tmp_path / "mail.jsonl").sent()] == [
        "ada@example.org"
    ]


def test_a_review_that_is_kept_is_told_again_and_not_made_again(repository, tmp_path):
    kept = f"sqlite:///{tmp_path / 'reviews.db'}"
    to = ("--to", "ada@example.org", "--database-url", kept)

    first, again = review("HEAD", *to), review("HEAD", *to)

    assert first.stdout == again.stdout
    assert len(File(tmp_path / "mail.jsonl").sent()) == 1
    assert review("HEAD", *to, "--rerun").stdout == first.stdout
    assert len(File(tmp_path / "mail.jsonl").sent()) == 1
    assert review("HEAD", *to, "--rerun", "--version", "2").exit_code == 1
    assert len(File(tmp_path / "mail.jsonl").sent()) == 2


def test_what_head_is_now_is_another_change_than_what_it_was(repository, tmp_path):
    kept = ("--database-url", f"sqlite:///{tmp_path / 'reviews.db'}")
    subprocess.run(["git", "checkout", "-q", "HEAD~1"], check=True)
    before = review("HEAD", *kept)
    subprocess.run(["git", "checkout", "-q", "-"], check=True)

    assert (before.exit_code, review("HEAD", *kept).exit_code) == (0, 1)


@pytest.mark.parametrize("change", ["nothing-like-that", "--output=x", "HEAD~99"])
def test_a_change_that_is_not_there_is_told_and_ends_with_2(repository, change):
    told = review("--", change)

    assert told.exit_code == 2
    assert "the repository has no" in told.stderr or "a commit, or a range" in told.stderr


def test_a_setting_that_cannot_be_read_ends_with_2(repository, monkeypatch):
    monkeypatch.setenv("RETRY_MAX_ATTEMPTS", "many")

    told = review("HEAD")

    assert told.exit_code == 2
    assert "RETRY_MAX_ATTEMPTS" in told.stderr
