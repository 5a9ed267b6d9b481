"""`grading` from a terminal: what it prints, and what its exit codes say."""

import json
import uuid

import pytest
from click.testing import CliRunner

from grading.cli import main

ESSAY = (
    "Tourism creates jobs for many families in small towns. However, too many visitors can harm "
    "nature, and prices rise. In my opinion, a town should limit the number of beds, because then "
    "both guests and residents profit from it. For example, my village has a small fee which pays "
    "for clean beaches. In conclusion, careful planning makes tourism a chance for everyone. "
) * 4


@pytest.fixture
def run(database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUDIO_DIR", str(tmp_path / "audio"))
    for name in ("AMQP_URL", "LLM_BASE_URL", "STT_BASE_URL", "GRADING_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments, input_=None):
        return CliRunner().invoke(main, list(arguments), input=input_, catch_exceptions=False)

    return invoke


@pytest.fixture
def essay(tmp_path):
    path = tmp_path / "essay.txt"
    path.write_text(ESSAY, encoding="utf-8")
    return str(path)


def handed_in(run, essay, *more):
    done = run("submit", essay, "--question", "w2-tourism", "--json", *more)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_an_essay_is_stored_and_can_be_looked_at(run, essay):
    made = handed_in(run, essay)

    shown = json.loads(run("status", made["submissionId"], "--json").stdout)
    listed = json.loads(run("list", "--json").stdout)["items"]

    assert made["created"] is True
    assert shown["status"] == "PENDING"
    assert [each["submissionId"] for each in listed] == [made["submissionId"]]
    assert "answer" not in listed[0]


def test_the_same_key_hands_in_once_and_another_text_under_it_is_refused(run, essay, tmp_path):
    first = handed_in(run, essay, "--key", "k-1")
    second = handed_in(run, essay, "--key", "k-1")
    other = tmp_path / "other.txt"
    other.write_text("Another text.", encoding="utf-8")

    refused = run("submit", str(other), "--question", "w2-tourism", "--key", "k-1")

    assert (second["created"], second["submissionId"]) == (False, first["submissionId"])
    assert refused.exit_code == 4
    assert "CONFLICT" in refused.stderr


def test_a_submission_that_was_cancelled_stays_so(run, essay):
    made = handed_in(run, essay)

    cancelled = json.loads(run("cancel", made["submissionId"], "--json").stdout)
    again = run("cancel", made["submissionId"])
    retried = run("retry", made["submissionId"])

    assert (cancelled["status"], cancelled["failureReason"]) == ("FAILED", "CANCELLED")
    assert again.exit_code == 0, "it is what was wanted"
    assert retried.exit_code == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("submit", "ESSAY", "--question", "w2-nothing"), 2, "VALIDATION_ERROR"),
        (("submit", "--question", "w2-tourism"), 2, "one of them"),
        (("status", str(uuid.uuid4())), 3, "FORBIDDEN"),
        (("dlq", "show", str(uuid.uuid4())), 3, "FORBIDDEN"),
        (("topology", "check"), 2, "AMQP_URL"),
        (("service",), 2, "AMQP_URL"),
        (("grade", "ESSAY", "--question", "s1-travel"), 2, "no writing question"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code_and_one_line(run, essay, arguments, code, said):
    done = run(*(essay if each == "ESSAY" else each for each in arguments))

    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_with_json_a_refusal_is_json_as_well(run, tmp_path):
    (tmp_path / "a.webm").write_bytes(b"Dear Sir or Madam")
    unknown = run("status", str(uuid.uuid4()), "--json")
    no_audio = run(
        "submit", "--audio", str(tmp_path / "a.webm"), "--question", "s1-travel", "--json"
    )
    no_broker = run("topology", "check", "--json")

    assert [json.loads(each.stderr)["error"] for each in (unknown, no_audio)] == [
        {"code": "FORBIDDEN", "message": "there is nothing with this id", "exit_code": 3},
        {
            "code": "NOT_AUDIO",
            "message": "The file is not an audio recording.",
            "exit_code": 2,
        },
    ]
    assert json.loads(no_broker.stderr)["error"]["exit_code"] == 2
    assert [each.exit_code for each in (unknown, no_audio, no_broker)] == [3, 2, 2]
    assert [each.stdout for each in (unknown, no_audio, no_broker)] == ["", "", ""]


def test_an_essay_is_graded_without_a_database(run, essay, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nothing")

    graded = json.loads(run("grade", essay, "--question", "w2-tourism", "--json").stdout)
    shown = run("grade", essay, "--question", "w2-tourism")
    piped = json.loads(run("grade", "-", "--json", input_=ESSAY).stdout)

    assert graded["grader"] == "rules"
    assert set(graded["criteriaScores"]) == {
        "taskFulfillment",
        "organization",
        "vocabulary",
        "grammar",
    }
    assert f"{graded['overallScore']:.1f} of 10" in shown.stdout
    assert piped["overallScore"] <= graded["overallScore"] + 1


def test_the_packaged_samples_are_ranked_as_expected(run):
    done = run("calibrate", "--json")

    assert done.exit_code == 0
    assert all(abs(each["stepsOff"]) <= 1 for each in json.loads(done.stdout))


def test_a_folder_that_holds_no_samples_says_why(run, tmp_path):
    (tmp_path / "bad.txt").write_text("no head", encoding="utf-8")

    done = run("calibrate", str(tmp_path))

    assert done.exit_code == 2
    assert "bad" in done.stderr


def test_doctor_names_what_is_there_and_what_is_not(run):
    found = {each["what"]: each for each in json.loads(run("doctor", "--json").stdout)}

    assert found["database"]["level"] == "ok"
    assert "the rules grade" in found["llm"]["text"]
    assert "one process" in found["broker"]["text"]


def test_doctor_says_that_a_database_cannot_be_reached(run, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nothing")

    done = run("doctor", "--json")

    assert done.exit_code == 6
    assert {each["what"] for each in json.loads(done.stdout) if each["level"] == "fault"} == {
        "database"
    }


def test_nothing_waits_in_an_empty_queue_of_dead_letters(run):
    assert json.loads(run("dlq", "list", "--json").stdout) == {"items": []}


def test_a_callback_that_is_no_callback_is_refused_with_its_fields(run):
    done = run("callback", "send", "-", input_='{"schemaVersion": 1}')

    assert done.exit_code == 4
    assert "eventId" in done.stderr


def test_a_table_that_is_piped_is_not_cut(run):
    listed = json.loads(run("questions", "--json").stdout)

    shown = run("questions").stdout

    assert [each["title"] for each in listed if each["title"] not in shown] == []
    assert "…" not in shown


def test_questions_can_be_listed_by_skill(run):
    listed = json.loads(run("questions", "--skill", "speaking", "--json").stdout)

    assert listed
    assert {each["skill"] for each in listed} == {"speaking"}
