"""Collabiq without scripts: lists, mails and forms."""

import json
import re

import pytest

from apps.collabiq.tests.running import MAILBOX, raw_of
from holdfast.testing import drain

PAGES = "/api/email-pages"


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One dialect: pages show what the API has, which is tested with both."""
    return sqlite_url


def test_a_mail_is_sent_in_shown_and_corrected_by_forms(system, visit):
    operator = visit("operator")
    file = {"file": ("a.eml", raw_of("english-plain"), "message/rfc822")}
    sent = operator.post(PAGES, files=file)
    drain(system.engine)
    shown = operator.get(str(sent.url))
    place = sent.url.path

    assert sent.history[0].status_code == 303
    assert "Load the page again" in sent.text
    for said in ("needs review", "Brightfold", "Open the row in Notion", "What happened"):
        assert said in shown.text
    corrected = operator.post(f"{place}/extraction", data={"person_in_charge": "박지수"})
    drain(system.engine)
    assert corrected.history[0].status_code == 303
    assert 'value="박지수"' in operator.get(place).text
    wrong = {"date": "soon", "details": "<img src=x>"}
    refused = operator.post(f"{place}/extraction", data=wrong)
    assert refused.status_code == 422
    assert "Has to be a day such as 2025-11-03" in refused.text
    assert "&lt;img src=x&gt;" in refused.text
    again = operator.post(f"{place}/process")
    assert again.history[0].status_code == 303
    assert "version 2" in again.text
    assert [each for each in (sent, shown, refused, again) if "<script" in each.text] == []


def test_lists_are_searched_and_go_on(system, visit):
    for name in ("english-plain", "korean-plain"):
        system.send(name)
    reader = visit("reader", MAILBOX)
    found = reader.get(PAGES, params={"q": "brightfold"}).text

    assert "Brightfold" in found
    assert found.count('class="mail-row"') == 1
    assert "No mails yet" not in found
    assert "Nothing like that" in reader.get(PAGES, params={"status": "failed"}).text
    assert reader.get(PAGES).text.count('class="mail-row"') == 2
    assert "Process the file" not in found, "a reader sends nothing in"
    assert "Dead letters" not in found, "those are for people who see every mailbox"


def test_a_dead_letter_is_mended_and_replayed_by_forms(system, visit):
    system.send("korean-plain")
    system.serving.fault = "invalid"
    email_id = system.send("english-plain")
    system.serving.fault = None
    dlq_id = system.collabiq.emails.item(email_id)["dlq_id"]
    operator, place = visit("operator"), f"{PAGES}/dead-letters/{dlq_id}"
    listed, shown = operator.get(f"{PAGES}/dead-letters").text, operator.get(place).text
    payload = system.collabiq.dlq.show(dlq_id)["original_payload"]

    assert dlq_id in listed
    assert "Replay the oldest ten" in listed
    assert "Save payload" in shown
    broken = operator.post(f"{place}/payload", data={"payload": "{"})
    assert (broken.status_code, "This is no JSON" in broken.text) == (422, True)
    foreign = operator.post(f"{place}/payload", data={"payload": '{"database_id": "other"}'})
    assert "/database_id: It has to be the database" in foreign.text
    payload["properties"].pop("협업강도")
    saved = operator.post(f"{place}/payload", data={"payload": json.dumps(payload)})
    replayed = operator.post(f"{place}/replay")
    drain(system.engine)
    assert saved.history[0].status_code == replayed.history[0].status_code == 303
    assert len(system.rows()) == 2
    refused = operator.post(f"{place}/replay")
    assert (refused.status_code, "That was refused" in refused.text) == (409, True)
    empty = operator.post(f"{PAGES}/dead-letters", data={"operation_type": "notion_write"})
    assert "0 went well, 0 failed" in empty.text


def test_a_dead_letter_is_closed_with_a_reason(system, visit):
    system.serving.fault = "invalid"
    email_id = system.send("english-plain")
    dlq_id = system.collabiq.emails.item(email_id)["dlq_id"]
    place = f"{PAGES}/dead-letters/{dlq_id}"
    done = visit("operator", MAILBOX).post(f"{place}/complete", data={"reason": "typed by hand"})

    assert done.url.path == f"{PAGES}/mails/{email_id}"
    assert system.collabiq.dlq.show(dlq_id)["status"] == "completed"


def test_health_and_rules_are_shown_as_far_as_somebody_may_see_them(system, visit):
    system.send("english-plain")
    operator, owner = visit("operator"), visit("reader", MAILBOX)
    own, whole = owner.get(f"{PAGES}/health").text, operator.get(f"{PAGES}/health").text

    for said in ("Gmail", "Gemini", "Notion", "Infisical", "circuit CLOSED"):
        assert said in own
        assert said in whole
    assert "Settings and where they come from" in whole
    assert "Latest errors" in whole
    assert "Latest errors" not in own
    assert "NOTION_API_KEY" not in own
    assert "협업강도" in owner.get(f"{PAGES}/rules").text


def test_only_those_get_in_who_may(system, visit):
    email_id = system.send("english-plain")
    stranger, other, reader = visit(), visit("operator", "other@example.com"), visit("reader")
    paths = ("", f"/mails/{email_id}", "/dead-letters", "/health", "/rules")

    assert {stranger.get(f"{PAGES}{path}").status_code for path in paths} == {401}
    assert other.get(f"{PAGES}/mails/{email_id}").status_code == 404
    assert other.get(f"{PAGES}/dead-letters").status_code == 403
    assert reader.post(f"{PAGES}/mails/{email_id}/process").status_code == 403
    assert reader.post(f"{PAGES}/fetch").status_code == 403
    assert visit("submitter").post(f"{PAGES}/fetch").history[0].status_code == 303
    assert re.search("Process again", reader.get(f"{PAGES}/mails/{email_id}").text) is None
