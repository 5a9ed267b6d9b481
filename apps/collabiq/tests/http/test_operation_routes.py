"""Dead letters, errors, breakers, the status, settings and pushes over HTTP."""

import json

import pytest

from apps.collabiq.tests.http.test_email_routes import code, pointers
from apps.collabiq.tests.running import MAILBOX, PUSH_SECRET
from collabiq.inbox.notifications import MAX_PER_MINUTE
from collabiq.rows import get_mailbox, open_mailbox, refuse_grant
from collabiq.stand_ins.world import GEMINI_KEY, NOTION_KEY
from holdfast.testing import drain


@pytest.fixture
def client(visit):
    return visit("operator")


@pytest.fixture
def dlq_id(system):
    """The id of the entry of a mail that Notion has refused."""
    system.send("korean-plain")
    system.serving.fault = "invalid"
    email_id = system.send("english-plain")
    system.serving.fault = None
    return system.collabiq.emails.item(email_id)["dlq_id"]


def test_a_dead_letter_is_mended_and_replayed_once(system, client, dlq_id):
    address = f"/api/dlq/{dlq_id}"
    (entry,) = client.get("/api/dlq", params={"operation_type": "notion_write"}).json()["entries"]
    payload = entry["original_payload"]
    foreign = client.put(address, json={"original_payload": {**payload, "database_id": "theirs"}})
    payload["properties"]["요약"] = {"rich_text": [{"text": {"content": "By hand."}}]}
    mended = client.put(address, json={"original_payload": payload})
    replayed = client.post(f"{address}/replay")
    drain(system.engine)
    twice = client.post(f"{address}/replay")

    assert (code(foreign), pointers(foreign)) == ((422, "invalid"), ["/database_id"])
    assert mended.json()["original_payload"] == payload
    assert (replayed.status_code, replayed.json()["status"]) == (202, "replaying")
    assert code(twice) == (409, "already_processed")
    texts = [row["properties"]["요약"]["rich_text"] for row in system.rows()]
    assert [text[0]["plain_text"] for text in texts].count("By hand.") == 1
    assert client.get("/api/dlq", params={"status": "pending"}).json()["entries"] == []


def test_a_dead_letter_is_closed_by_hand_with_a_reason(client, dlq_id):
    empty = client.post(f"/api/dlq/{dlq_id}/complete", json={"reason": ""})
    closed = client.post(f"/api/dlq/{dlq_id}/complete", json={"reason": "typed in by hand"})
    twice = client.post(f"/api/dlq/{dlq_id}/complete", json={"reason": "again"})

    assert (code(empty), pointers(empty)) == ((422, "invalid"), ["/reason"])
    assert closed.json()["processed"] is True
    assert code(twice) == (409, "already_processed")


def test_what_is_asked_wrongly_of_dead_letters_is_refused(client):
    unknown = "dlq_20250101_000000_x"

    assert code(client.get(f"/api/dlq/{unknown}")) == (404, "dlq_not_found")
    assert code(client.post(f"/api/dlq/{unknown}/replay")) == (404, "dlq_not_found")
    assert code(client.get("/api/dlq/..%2f")) in {(404, "not_found"), (422, "invalid_request")}
    assert client.get("/api/dlq/x").status_code == 422
    assert client.get("/api/dlq", params={"operation_type": "x"}).status_code == 422
    for body in ({}, {"operation_type": "x"}, {"operation_type": "notion_write", "max_count": 0}):
        assert client.post("/api/dlq/replay", json=body).status_code == 422
    done = client.post("/api/dlq/replay", json={"operation_type": "gmail_fetch"})
    assert done.json() == {"success": 0, "failed": 0, "skipped": 0, "refused": []}


def test_errors_are_found_by_what_they_are_about(system, client, dlq_id):
    found = client.get("/api/errors", params={"severity": "ERROR"}).json()["errors"]

    assert [each["context"]["operation"] for each in found] == ["notion_write"]
    email_id = found[0]["context"]["email_id"]
    assert client.get("/api/errors", params={"email_id": email_id}).json()["errors"]
    assert client.get("/api/errors", params={"category": "CRITICAL"}).json() == {"errors": []}
    for wrong in ({"severity": "LOUD"}, {"email_id": "../x"}, {"limit": 0}, {"since": "x"}):
        assert client.get("/api/errors", params=wrong).status_code == 422


def test_the_four_breakers_are_told_in_the_words_of_the_records(client):
    found = client.get("/api/circuits").json()["circuits"]

    assert [each["service_name"] for each in found] == ["gmail", "gemini", "notion", "infisical"]
    assert {each["state"] for each in found} == {"CLOSED"}


def service(client, name):
    document = client.get("/api/collabiq/status").json()
    return next(each for each in document["services"] if each["service"] == name), document


def test_the_status_says_how_each_service_is_and_what_to_do(client, system):
    system.send("english-plain")
    gmail, document = service(client, "gmail")
    gemini, _ = service(client, "gemini")

    assert gmail["state"] == "OPERATIONAL"
    assert (gemini["state"], gemini["critical"]) == ("DEGRADED", False)
    assert "for review" in gemini["reason"]
    assert gemini["next_step"]
    assert document["critical"] == []
    assert (document["today"]["needs_review"], document["extractor"]["offline"]) == (1, True)
    assert (document["token"]["present"], document["token"]["refused"]) == (True, False)


def test_a_key_that_notion_refuses_is_critical_until_it_is_taken_again(client, system):
    system.send("korean-plain")
    system.serving.fault = "unauthorized"
    system.send("english-plain")
    refused, document = service(client, "notion")
    system.serving.fault = None
    system.engine.clock.advance(120)
    system.send("mixed-languages")
    well, _ = service(client, "notion")

    assert (refused["state"], refused["critical"]) == ("UNAVAILABLE", True)
    assert "NOTION_API_KEY" in refused["next_step"]
    assert [each["service"] for each in document["critical"]] == ["notion"]
    assert (well["state"], well["critical"]) == ("OPERATIONAL", False)


def test_credentials_that_google_refuses_are_critical_with_the_command_that_helps(client, system):
    credentials = system.collabiq.flow.works.tools.credentials()
    with system.engine.transaction() as tx:
        open_mailbox(tx, MAILBOX)
        refuse_grant(tx, MAILBOX, credentials.fingerprint())
    gmail, document = service(client, "gmail")

    assert (gmail["state"], gmail["critical"]) == ("UNAVAILABLE", True)
    assert "collabiq gmail login" in gmail["next_step"]
    assert document["token"]["refused"] is True
    assert [each["service"] for each in document["critical"]] == ["gmail"]


def test_a_notion_that_is_away_is_unavailable_until_it_answers(client, system):
    system.send("korean-plain")
    system.serving.fault = "overloaded"
    for name in ("english-plain", "mixed-languages"):
        system.send(name)
    away, document = service(client, "notion")
    system.serving.fault = None

    assert (away["state"], away["circuit"]) in {("UNAVAILABLE", "OPEN"), ("DEGRADED", "HALF_OPEN")}
    assert away["next_step"]
    assert document["critical"] == []


def test_the_page_about_the_api_shows_the_routes(client):
    page = client.get("/api/reference")

    assert page.status_code == 200
    for path in (
        "/api/emails/{email_id}/extraction",
        "/api/dlq/replay",
        "/api/gmail/notifications",
    ):
        assert path in page.text
    assert "matched_company_id" in page.text


def test_settings_have_their_sources_and_no_secret_is_among_them(client, system):
    response = client.get("/api/collabiq/config")

    found = {each["name"]: each for each in response.json()["settings"]}
    assert found["NOTION_API_KEY"] == {
        "name": "NOTION_API_KEY",
        "value": "********",
        "source": "environment",
        "secret": True,
    }
    assert found["GEMINI_MODEL"]["source"] == "default"
    assert found["LLM_ORDER"]["source"] == "environment"
    assert found["GMAIL_ENCRYPTION_KEY"]["source"] == "unset"
    credentials = system.world.built.secrets.found("GMAIL_TOKEN").value
    secrets = [json.loads(credentials)[name] for name in ("refresh_token", "client_secret")]
    for secret in (NOTION_KEY, GEMINI_KEY, PUSH_SECRET, *secrets):
        assert secret not in response.text


def test_rules_name_the_columns_that_were_found(client, system):
    before = client.get("/api/collabiq/rules").json()
    system.send("english-plain")
    found = {each["field"]: each for each in client.get("/api/collabiq/rules").json()["fields"]}

    assert {each["found"] for each in before["fields"]} == {None}
    assert (found["title"]["column"], found["title"]["found"]) == ("제목", True)
    assert len(found["type"]["options"]) == 4


def test_a_push_with_the_secret_makes_a_poll_and_others_do_not(visit, system):
    stranger = visit()
    address = "/api/gmail/notifications"

    def wanted():
        with system.engine.transaction() as tx:
            row = get_mailbox(tx, system.collabiq.config.mailbox)
        return row is not None and row.next_look_at is None

    nothing = stranger.post(address, json={})
    wrong = stranger.post(address, headers={"Authorization": "Bearer wrong"})
    before = wanted()
    good = [
        stranger.post(address, headers={"Authorization": f"Bearer {PUSH_SECRET}"}),
        stranger.post(address, params={"token": PUSH_SECRET}),
    ]

    assert code(nothing) == code(wrong) == (401, "notification_refused")
    assert [before, wanted()] == [False, True]
    assert [each.status_code for each in good] == [204, 204]
    many = [
        stranger.post(address, params={"token": PUSH_SECRET}).status_code
        for _ in range(MAX_PER_MINUTE)
    ]
    assert many[-1] == 429
