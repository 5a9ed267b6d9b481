"""Mails as people and programs see them, on both databases, with rows at Notion's stand-in."""

from datetime import datetime, timedelta

import pytest

from apps.collabiq.tests.running import MAILBOX, raw_of
from collabiq.mail import MAX_MAIL_BYTES
from collabiq.refusals import (
    EmailNotFound,
    Invalid,
    InvalidCursor,
    NotAMailRefused,
    TooLarge,
    WrongState,
)
from holdfast.testing import drain


def pointers(refused):
    return [each["pointer"] for each in refused.value.pointers]


def test_a_mail_that_is_sent_in_is_shown_with_all_that_was_found(system):
    email_id = system.send("english-plain")

    found = system.collabiq.emails.show(email_id)

    assert found["status"] == "needs_review"
    assert found["mail"]["subject"] == "Brightfold x Orchard Retail pilot"
    assert "shelf labels" in found["cleaned"]["text"]
    assert [each["kind"] for each in found["cleaned"]["removed"]] == ["signature"]
    assert found["extraction"]["extractor"] == "rules"
    assert found["extraction"]["person_in_charge"] == found["person_in_charge"] == "Emma Clarke"
    assert found["matches"]["startup"]["found"]["name"] == "Brightfold"
    assert "properties" not in found["matches"]
    assert found["page"]["outcome"] == "created"
    assert found["page_url"] == found["page"]["url"] is not None
    assert found["history"][0]["event"] == "queued"
    assert (found["date"], found["errors"], found["dlq_id"]) == ("2025-11-12", [], None)
    assert "shelf labels" in found["details"]


def test_the_same_bytes_are_one_mail_and_one_row(system):
    first, first_is_new = system.collabiq.emails.receive(raw_of("english-plain"), by="ada")
    drain(system.engine)
    again, again_is_new = system.collabiq.emails.receive(raw_of("english-plain"), by="ben")
    drain(system.engine)

    assert (first_is_new, again_is_new) == (True, False)
    assert first["email_id"] == again["email_id"]
    assert len(system.rows()) == 1


def test_what_is_no_mail_or_too_large_leaves_nothing(system):
    emails = system.collabiq.emails

    with pytest.raises(NotAMailRefused):
        emails.receive(b"", by="ada")
    with pytest.raises(NotAMailRefused):
        emails.receive(b"\x89PNG\r\n\x1a\n" + bytes(64), by="ada")
    with pytest.raises(TooLarge):
        emails.receive(b"Subject: x\r\n\r\n" + bytes(MAX_MAIL_BYTES), by="ada")
    assert emails.list()["emails"] == []


def test_lists_are_newest_first_and_go_on_by_a_cursor_of_their_own(system):
    emails = system.collabiq.emails
    ids = [
        system.send(name, work=False)
        for name in ("english-plain", "korean-plain", "mixed-languages")
    ]
    first = emails.list(limit=2)
    rest = emails.list(limit=2, cursor=first["next"])

    assert [each["email_id"] for each in first["emails"]] == [ids[2], ids[1]]
    assert [each["email_id"] for each in rest["emails"]] == [ids[0]]
    assert rest["next"] is None
    for other in ({"status": "pending"}, {"q": "x"}, {"owner": MAILBOX}):
        with pytest.raises(InvalidCursor):
            emails.list(limit=2, cursor=first["next"], **other)
    for nonsense in ("", "%%%", "e30", "W10", "x" * 600):
        with pytest.raises(InvalidCursor):
            emails.list(cursor=nonsense)


def test_lists_are_narrowed_by_status_time_text_and_owner(system):
    emails = system.collabiq.emails
    english, automatic = system.send("english-plain"), system.send("odd-auto-reply")

    def ids(**filters):
        return [each["email_id"] for each in emails.list(**filters)["emails"]]

    assert ids(status="skipped") == [automatic]
    assert ids(q="brightFOLD") == [english]
    assert ids(q="100%") == []
    assert ids(owner="somebody@example.com") == []
    assert set(ids(owner=MAILBOX)) == {english, automatic}
    assert ids(since=datetime.fromisoformat("2999-01-01T00:00:00Z")) == []
    assert emails.list(status="skipped")["emails"][0]["reason"].startswith("automatic")


def test_every_flaw_of_a_list_is_named(system):
    with pytest.raises(Invalid) as refused:
        system.collabiq.emails.list(
            status="lost",
            since=datetime(2025, 1, 1),  # noqa: DTZ001 - what is refused
            q="x" * 201,
            limit=0,
        )

    assert pointers(refused) == ["/status", "/since", "/q", "/limit"]


def test_a_mail_of_another_owner_is_none(system):
    email_id = system.send("english-plain")
    emails = system.collabiq.emails

    for look in (
        lambda: emails.show(email_id, owner="somebody@example.com"),
        lambda: emails.process(email_id, by="eve", owner="somebody@example.com"),
        lambda: emails.correct(email_id, {"summary": ""}, by="eve", owner="somebody@example.com"),
        lambda: emails.show("unknown"),
    ):
        with pytest.raises(EmailNotFound):
            look()
    with pytest.raises(Invalid):
        emails.show("../../etc/passwd")
    assert emails.show(email_id, owner=MAILBOX)["version"] == 1


def test_a_mail_is_processed_again_into_the_same_row(system):
    email_id = system.send("english-plain")

    begun = system.collabiq.emails.process(email_id, by="ada")
    with pytest.raises(WrongState):
        system.collabiq.emails.process(email_id, by="ben")
    drain(system.engine)

    found = system.collabiq.emails.show(email_id)
    assert (begun["status"], begun["version"]) == ("pending", 2)
    assert (found["status"], found["version"]) == ("needs_review", 2)
    assert len(system.rows()) == 1


def test_a_failed_mail_names_its_dead_letter_which_processing_again_closes(system):
    system.send("korean-plain")
    system.serving.fault = "invalid"
    email_id = system.send("english-plain")
    failed = system.collabiq.emails.show(email_id)
    system.serving.fault = None
    entry = system.collabiq.dlq.show(failed["dlq_id"])

    system.collabiq.emails.process(email_id, by="ada")
    drain(system.engine)

    assert (failed["status"], failed["stage"]) == ("failed", "notion_write")
    assert failed["reason"]
    assert failed["errors"][0]["severity"] == "ERROR"
    assert "stack_trace" not in failed["errors"][0]
    assert (entry["email_id"], entry["status"]) == (email_id, "pending")
    assert system.collabiq.emails.show(email_id)["status"] == "needs_review"
    assert system.collabiq.dlq.show(failed["dlq_id"])["processed"] is True


def test_a_correction_changes_the_row_and_ends_the_review(system):
    email_id = system.send("odd-ambiguous-company")
    before = system.collabiq.emails.show(email_id)
    meant = before["matches"]["startup"]["alternatives"][0]

    system.collabiq.emails.correct(
        email_id,
        {"matched_company_id": meant["id"], "date": "2025-12-24", "summary": "They met."},
        by="ada",
    )
    drain(system.engine)

    found = system.collabiq.emails.show(email_id)
    (row,) = system.rows()
    assert before["matches"]["startup"]["ambiguous"] is True
    assert (found["status"], found["review"], found["date"]) == ("processed", [], "2025-12-24")
    assert found["extraction"]["summary"] == "They met."
    assert found["extraction"]["startup_name"] == before["extraction"]["startup_name"]
    assert found["matches"]["startup"]["found"]["id"] == meant["id"]
    assert found["correction"]["by"] == "ada"
    assert row["properties"]["스타트업명"]["relation"] == [{"id": meant["id"]}]
    assert row["properties"]["날짜"]["date"]["start"] == "2025-12-24"
    assert row["properties"]["검토필요"]["checkbox"] is False


def test_every_flaw_of_a_correction_is_named_and_nothing_is_changed(system):
    email_id = system.send("english-plain")
    wrong = {
        "person_in_charge": "x" * 101,
        "startup_name": 7,
        "partner_org": "x" * 201,
        "details": None,
        "summary": "x" * 2_001,
        "date": "2025-13-01",
        "collaboration_intensity": "love",
        "matched_company_id": "not-one-of-ours",
        "no/such~field": 1,
    }

    with pytest.raises(Invalid) as refused:
        system.collabiq.emails.correct(email_id, wrong, by="ada")
    with pytest.raises(Invalid):
        system.collabiq.emails.correct(email_id, {}, by="ada")

    known = {f"/{name}" for name in wrong} - {"/no/such~field"} | {"/no~1such~0field"}
    assert set(pointers(refused)) == known
    assert system.collabiq.emails.show(email_id)["correction"] is None


def test_a_correction_that_names_an_unknown_company_is_refused_with_what_to_do(system):
    email_id = system.send("english-plain")
    emails = system.collabiq.emails

    with pytest.raises(Invalid) as refused:
        emails.correct(email_id, {"startup_name": "Quillstone", "summary": "They met."}, by="ada")

    (flaw,) = refused.value.pointers
    assert flaw["pointer"] == "/startup_name"
    assert flaw["message"].startswith("no company of Notion has this name; add it")
    assert emails.show(email_id)["correction"] is None
    world = system.world.stand_ins
    world.notion.add_row(
        world.companies_id, {"Name": {"title": [{"text": {"content": "Quillstone"}}]}}
    )
    system.engine.clock.advance(11)
    with pytest.raises(Invalid):
        emails.correct(email_id, {"startup_name": "Quillstone"}, by="ada")
    drain(system.engine)
    emails.correct(email_id, {"startup_name": "Quillstone"}, by="ada")
    drain(system.engine)

    assert emails.show(email_id)["matches"]["startup"]["found"]["name"] == "Quillstone"


def test_a_correction_to_a_name_that_several_companies_fit_is_refused_with_their_names(system):
    email_id = system.send("english-plain")

    with pytest.raises(Invalid) as refused:
        system.collabiq.emails.correct(email_id, {"startup_name": "한빛소프트"}, by="ada")

    (flaw,) = refused.value.pointers
    assert flaw["message"].startswith("several companies of Notion fit: 한빛")


def test_lists_of_a_status_have_what_their_items_say(system):
    """Rows follow their jobs by a tick; nothing here makes one."""
    system.serving.fault = "invalid"
    failed = system.send("english-plain")
    waiting = system.send("korean-plain", work=False)
    emails = system.collabiq.emails

    def listed(status: str) -> list[str]:
        return [each["email_id"] for each in emails.list(status=status)["emails"]]

    assert emails.item(failed)["status"] == "failed"
    assert (listed("failed"), listed("pending"), listed("processing")) == ([failed], [waiting], [])


def test_only_what_has_a_row_is_corrected_and_one_correction_at_a_time(system):
    emails = system.collabiq.emails
    skipped, under_way = system.send("odd-auto-reply"), None
    written = system.send("english-plain")
    under_way = system.send("korean-plain", work=False)
    emails.correct(written, {"summary": "One."}, by="ada")

    for email_id in (skipped, under_way, written):
        with pytest.raises(WrongState):
            emails.correct(email_id, {"summary": "Two."}, by="ben")


def test_the_counts_of_a_day_end_with_it(system):
    system.send("english-plain")
    today = system.collabiq.status()["today"]
    system.engine.clock.advance(timedelta(days=1).total_seconds())

    assert (today["total"], today["needs_review"]) == (1, 1)
    assert system.collabiq.status()["today"]["total"] == 0
    assert system.collabiq.status()["totals"]["needs_review"] == 1
    assert system.collabiq.status(owner="somebody@example.com")["totals"]["needs_review"] == 0
