"""`collabiq email`, `status` and `report` on mails that were processed."""

import json
import os
import pty
import re
import signal
import sys

import pytest

from collabiq.samples import mailbox
from tests.warm.process import WarmProcess

SAMPLES = {sample.name: sample for sample in mailbox()}


@pytest.fixture(autouse=True)
def fast(environment, sqlite_url):
    """Settings by which nothing is waited for that need not be."""
    environment |= {
        "DATABASE_URL": sqlite_url,
        "INFISICAL_ENABLED": "0",
        "LLM_ORDER": "offline",
        "NOTION_RATE_LIMIT_PER_SEC": "1000",
    }


@pytest.fixture
def processed(run, world):
    """Three mails, of which one is skipped; their ids by name."""
    names = ("english-plain", "korean-plain", "odd-auto-reply")
    ids = world.world.deliver([SAMPLES[name] for name in names])
    done = run("run", "--json")
    assert done.exit_code == 0, done.output
    return ids


def listed(run, *options):
    return json.loads(run("email", "list", "--json", *options).stdout)


def test_mails_are_listed_by_status_by_words_and_by_pages(run, processed):
    everything = listed(run)
    skipped = listed(run, "--status", "skipped")
    found = listed(run, "--search", "Brightfold")
    first = listed(run, "--limit", "2")
    rest = listed(run, "--limit", "2", "--cursor", first["next"])
    shown = run("email", "list")

    assert {each["email_id"] for each in everything["emails"]} == set(processed.values())
    assert [each["email_id"] for each in skipped["emails"]] == [processed["odd-auto-reply"]]
    assert [each["email_id"] for each in found["emails"]] == [processed["english-plain"]]
    assert (len(first["emails"]), len(rest["emails"]), rest["next"]) == (2, 1, None)
    assert processed["korean-plain"] in shown.stdout
    assert listed(run, "--since", "2030-01-01")["emails"] == []


def test_a_mail_is_shown_with_fields_matches_and_its_row(run, processed):
    email_id = processed["english-plain"]

    found = json.loads(run("email", "show", email_id, "--json").stdout)
    shown = run("email", "show", email_id, "--text")
    unknown = run("email", "show", "19a3f3f856f0ffff", "--json")
    no_id = run("email", "show", "../../etc/passwd", "--json")

    assert found["status"] == "needs_review"
    assert found["page_url"] in shown.stdout
    assert found["extraction"]["startup_name"] in shown.stdout
    assert found["cleaned"]["text"].splitlines()[0] in shown.stdout
    assert found["matches"]["startup"]["found"]["name"] in shown.stdout
    assert (unknown.exit_code, no_id.exit_code) == (1, 4)


def test_a_mail_is_forgotten_when_that_was_confirmed(run, world, processed):
    email_id = processed["english-plain"]
    rows = len(world.world.notion.rows_of(world.world.rows_id))

    declined = run("email", "forget", email_id, input_="n\n")
    kept = json.loads(run("email", "show", email_id, "--json").stdout)
    done = run("email", "forget", email_id, "--yes", "--json")
    after = run("email", "show", email_id, "--json")
    again = json.loads(run("run", "--json").stdout)

    assert declined.exit_code == 1
    assert kept["extraction"]
    assert done.exit_code == 0, done.output
    assert not json.loads(after.stdout).get("extraction")
    assert again["new"] == 0, "it does not come again"
    assert len(world.world.notion.rows_of(world.world.rows_id)) == rows


def test_a_file_is_processed_in_earnest_once(run, world, tmp_path):
    (tmp_path / "mail.eml").write_bytes(SAMPLES["english-plain"].raw)

    first = run("email", "process", "mail.eml", "--write", "--json")
    second = run("email", "process", "mail.eml", "--write")

    made = json.loads(first.stdout)
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    assert (made["new"], made["status"]) == (True, "needs_review")
    assert "processed before" in second.stderr
    assert len(world.world.notion.rows_of(world.world.rows_id)) == 1


def test_the_status_has_the_services_and_the_counts_of_today(run, processed):
    found = json.loads(run("status", "--json").stdout)
    shown = run("status", "--detailed")

    assert {each["service"] for each in found["services"]} == {
        "gmail",
        "gemini",
        "notion",
        "infisical",
    }
    assert found["today"]["needs_review"] == 2
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.stdout, "plain where it is no terminal"
    assert re.search(r"gmail +OPERATIONAL +CLOSED", shown.stdout)
    assert "breaker of notion: CLOSED, 0 of 5 failures, 60 s" in shown.stdout


def test_a_status_that_needs_a_person_ends_with_1_and_what_to_do(run, world):
    world.world.gmail.expire_tokens()
    world.servings["gmail"].fault = "token_revoked"
    run("run")

    done = run("status")

    assert done.exit_code == 1
    assert "collabiq gmail login" in done.stdout


def test_a_report_sums_up_a_span_of_time(run, processed):
    found = json.loads(run("report", "--json").stdout)
    later = json.loads(run("report", "--since", "2030-01-01", "--json").stdout)
    shown = run("report", "--since", "7d")

    assert (found["mails"]["total"], found["mails"]["skipped"]) == (3, 1)
    assert len(found["needs_review"]) == 2
    assert found["dead_letters"] == {}
    assert later["mails"]["total"] == 0
    assert "2 needs review, 1 skipped" in shown.stdout
    assert found["needs_review"][0]["page_url"] in shown.stdout


def test_a_terminal_watches_the_status_until_it_is_interrupted(environment, tmp_path):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "collabiq", "status", "--watch", "--every", "0.5"]
    shown = b""
    with WarmProcess(
        command, cwd=tmp_path, env=environment | {"TERM": "xterm"}, stdout=slave, stdin=slave
    ) as process:
        os.close(slave)
        while shown.count(b"SERVICE") < 2:
            shown += os.read(master, 65_536)
        process.send_signal(signal.SIGINT)
        code = process.wait(20)
    os.close(master)

    assert code == 0
    assert b"\x1b[" in shown, "the table is drawn over itself"


def test_a_program_that_watches_gets_a_document_for_each_look(environment, tmp_path):
    command = [sys.executable, "-m", "collabiq", "status", "--watch", "--every", "0.5", "--json"]
    environment["PYTHONUNBUFFERED"] = "1"
    with WarmProcess(command, cwd=tmp_path, env=environment, stdout=-1, text=True) as process:
        looks = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        code = process.wait(20)

    assert code == 0
    assert looks[0]["at"] < looks[1]["at"]
