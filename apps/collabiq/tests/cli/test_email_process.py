"""`collabiq email process FILE`: no account, no database, no network."""

import json
import os

import pytest
from click.testing import CliRunner

from collabiq.cli import main
from collabiq.samples import mailbox

SAMPLES = {sample.name: sample for sample in mailbox()}


@pytest.fixture
def laptop(tmp_path, monkeypatch):
    """Run a command where nothing is set, and the usual database cannot be made."""
    for name in list(os.environ):
        if name.startswith(("NOTION_", "GMAIL_", "GEMINI_", "INFISICAL_", "EMAIL_", "COLLABIQ_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nothing")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "nowhere" / "data"))

    def one(raw, *arguments):
        (tmp_path / "mail.eml").write_bytes(raw)
        file = str(tmp_path / "mail.eml")
        return CliRunner().invoke(main, ["email", "process", file, *arguments])

    return one


def test_a_mail_is_looked_into_and_nothing_is_written(laptop, tmp_path):
    sample = next(each for each in SAMPLES.values() if each.expected.fields.get("startup_name"))

    done = laptop(sample.raw, "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (found["mode"], found["written"]) == ("offline", False)
    assert found["status"] == "needs_review"
    assert found["extraction"]["extractor"] == "rules"
    for name, value in sample.expected.fields.items():
        assert found["extraction"][name] == value
    assert found["properties"]["검토필요"] == {"checkbox": True}
    assert "스타트업명" not in found["properties"], "no company is known here"
    assert [each.name for each in tmp_path.iterdir()] == ["mail.eml"]


def test_it_is_honest_about_what_it_did_not_do(laptop):
    sample = next(each for each in SAMPLES.values() if each.expected.fields.get("startup_name"))

    done = laptop(sample.raw)

    assert "검토필요" in done.stdout
    assert "nothing was written" in done.stderr
    assert "not by Gemini" in done.stderr


@pytest.mark.parametrize("name", ["odd-auto-reply", "korean-only-a-signature"])
def test_a_mail_that_would_be_skipped_says_why(laptop, name):
    done = laptop(SAMPLES[name].raw, "--json")
    shown = laptop(SAMPLES[name].raw)

    found = json.loads(done.stdout)
    assert (done.exit_code, found["status"], found["properties"]) == (0, "skipped", None)
    assert found["reason"]
    assert found["reason"] in shown.stdout


@pytest.mark.parametrize("raw", [b"", b"\n\nhello there\n"])
def test_a_file_that_is_no_mail_ends_with_4(laptop, raw):
    done = laptop(raw, "--json")

    assert done.exit_code == 4
    assert json.loads(done.stdout)["error"]["code"] == 4
    assert "no mail" in done.stderr


def test_every_sample_can_be_processed(laptop):
    wrong = {
        name: done.output
        for name, sample in SAMPLES.items()
        if (done := laptop(sample.raw, "--json")).exit_code != 0
    }

    assert wrong == {}


def test_what_a_mail_says_is_not_obeyed_by_the_terminal(laptop):
    head = "Subject: a\x1b[2Jb\u202e\nFrom: X <x@example.com>\n\n"
    raw = f"{head}A x B pilot \x1b]0;owned\x07".encode()

    shown = laptop(raw)

    assert shown.exit_code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.output)
