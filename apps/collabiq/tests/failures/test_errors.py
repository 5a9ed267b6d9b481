"""Records of failures: written when they happen, found again by what they are about."""

import json
from datetime import timedelta

import pytest

from collabiq import ErrorRecord
from collabiq.failures.errors import ErrorRecords
from collabiq.refusals import Invalid
from holdfast import GiveUp, Pipeline
from holdfast.testing import drain, run_inline

EMAIL = "19a3f3f856f0b4d4"


class Denied(Exception):
    """What an SDK raises when a token has died."""

    status = 401


@pytest.fixture
def records(world) -> ErrorRecords:
    return ErrorRecords(world.engine, world.config)


def written(world, records) -> list[tuple[str, ErrorRecord]]:
    """Every record there is, with its folder, in the order of their names."""
    world.engine.close()
    return [
        (path.parent.name, ErrorRecord.from_json(json.loads(line)))
        for path in sorted(records.log.root.glob("*/*.json"), key=lambda path: path.name)
        for line in path.read_text("utf-8").splitlines()
    ]


def test_an_attempt_that_is_retried_is_a_warning_and_the_last_an_error(world, records):
    world.failing["notion_write"] = TimeoutError("no answer")
    job = world.engine.submit("email", {"email_id": EMAIL}, key=EMAIL, owner="c@example.com")
    run_inline(world.engine, until=job, advance=True)

    found = written(world, records)

    assert [(folder, record.severity.value) for folder, record in found] == [
        ("WARNING", "WARNING"),
        ("ERROR", "ERROR"),
    ]
    context = found[0][1].context
    assert (context["email_id"], context["operation"]) == (EMAIL, "notion_write")
    assert (context["attempt"], context["stage"]) == (1, "notion_write")
    assert [record.retry_count for _, record in found] == [0, 1]


def test_what_only_a_person_can_mend_is_critical(world, records):
    world.failing["notion_write"] = Denied("the token is dead")
    world.mail()

    ((folder, record),) = written(world, records)

    assert (folder, record.severity.value, record.category.value) == (
        "CRITICAL",
        "CRITICAL",
        "CRITICAL",
    )


def test_files_are_named_after_the_moment_and_the_mail(world, records):
    world.failing["gmail_fetch"] = GiveUp("NO", "no")
    world.mail()
    world.engine.close()

    (path,) = (records.log.root / "ERROR").iterdir()
    assert path.name == f"error_20260101T000000000000Z_{EMAIL}.json"
    assert records.log.root == world.config.data_dir / "logs"


@pytest.mark.parametrize("email_id", ["../../etc/passwd", "a/b", "<x@y>"])
def test_no_email_id_leads_out_of_the_folder(world, records, email_id: str, tmp_path):
    world.failing["gmail_fetch"] = GiveUp("NO", "no")
    world.mail(email_id)

    ((_, record),) = written(world, records)

    assert record.context["email_id"] == "inbox"


def test_records_are_found_newest_first_by_what_they_are_about(world, records):
    world.failing["notion_write"] = GiveUp("NO", "no")
    world.mail("aaa")
    world.failing = {"gemini_extract": Denied("no")}
    world.mail("bbb")
    at = ErrorRecord.from_json(written(world, records)[0][1].to_json()).timestamp
    records.record(
        "the column 요약 is missing", at=at - timedelta(days=1), operation="notion_write"
    )

    def messages(**wanted) -> list[str]:
        return [
            f"{record['context']['email_id']}:{record['severity']}"
            for record in records.list(**wanted)["errors"]
        ]

    assert messages() == ["bbb:CRITICAL", "aaa:ERROR", "inbox:WARNING"]
    assert messages(severity="ERROR") == ["aaa:ERROR"]
    assert messages(category="CRITICAL") == ["bbb:CRITICAL"]
    assert messages(operation="notion_write") == ["aaa:ERROR", "inbox:WARNING"]
    assert messages(email_id="bbb") == ["bbb:CRITICAL"]
    assert messages(since=at) == ["bbb:CRITICAL", "aaa:ERROR"]
    assert messages(limit=1) == ["bbb:CRITICAL"]


@pytest.mark.parametrize(
    "wanted", [{"severity": "LOUD"}, {"severity": "../x"}, {"category": "ODD"}, {"limit": 0}]
)
def test_what_no_record_can_be_is_refused(world, records, wanted):
    with pytest.raises(Invalid):
        records.list(**wanted)


def test_lines_that_are_no_records_hide_no_others(world, records):
    world.failing["notion_write"] = GiveUp("NO", "no")
    world.mail()
    world.engine.close()
    folder = records.log.root / "ERROR"
    (folder / "error_20990101T000000000000Z_planted.json").write_text('{"half": \nnull\n[]\n{}\n')
    (folder / "error_odd.json").write_bytes(b"\xff")

    assert len(records.list()["errors"]) == 1


def test_jobs_of_other_systems_have_no_record_here(world, records):
    other = Pipeline("converter")

    @other.stage
    def convert(job) -> None:
        raise GiveUp("NO", "no")

    world.engine.add(other)
    world.engine.submit(other)
    drain(world.engine)

    assert written(world, records) == []
