"""`/api/emails` over HTTP: what is answered, and every refusal with its code."""

import json

import pytest

from apps.collabiq.tests.running import raw_of
from collabiq.mail import MAX_MAIL_BYTES
from holdfast.testing import drain

RFC822 = {"Content-Type": "message/rfc822"}


def code(response):
    document = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert document["status"] == response.status_code
    assert document["title"] not in {"", "It is refused"}
    return response.status_code, document["code"]


def pointers(response):
    return [each["pointer"] for each in response.json()["errors"]]


@pytest.fixture
def client(visit):
    return visit("operator")


def test_a_mail_goes_in_and_its_row_comes_out(system, client):
    first = client.post("/api/emails", content=raw_of("english-plain"), headers=RFC822)
    again = client.post("/api/emails", content=raw_of("english-plain"), headers=RFC822)
    drain(system.engine)
    found = client.get(first.headers["location"]).json()

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == again.headers["location"]
    assert found["status"] == "needs_review"
    assert found["from"] == "Jisoo Han <jisoo.han@partner.example>"
    assert found["page_url"].startswith("http")
    item = client.get("/api/emails", params={"q": "brightfold"}).json()["emails"][0]
    assert set(item) < set(found)
    assert {name: found[name] for name in item} == item


def test_what_is_no_mail_is_refused(client):
    big = b"Subject: x\r\n\r\n" + bytes(MAX_MAIL_BYTES)

    def post(content, headers=RFC822):
        return client.post("/api/emails", content=content, headers=headers)

    assert code(post(b"")) == (422, "not_a_mail")
    assert code(post(b"{}")) == (422, "not_a_mail")
    assert code(post(b"{}", {"Content-Type": "application/json"})) == (415, "media_type_refused")
    assert code(post(big)) == (413, "too_large")
    assert code(post(iter([big]))) == (413, "too_large")
    assert code(post(b"", {**RFC822, "Content-Length": str(10**12)})) == (413, "body_too_large")
    assert client.get("/api/emails").json()["emails"] == []


def test_an_id_that_is_none_is_refused(client):
    for wrong in ("a.b", "x" * 65, "%2e%2e", "a%20b", "%00"):
        for method, end in (("GET", ""), ("POST", "/process"), ("PUT", "/extraction")):
            found = client.request(method, f"/api/emails/{wrong}{end}", json={"summary": "x"})
            assert code(found) == (422, "invalid_request"), wrong
    assert code(client.get("/api/emails/unknown")) == (404, "email_not_found")
    assert code(client.post("/api/emails/unknown/process")) == (404, "email_not_found")


def test_a_list_is_narrowed_and_its_cursor_is_its_own(system, client):
    for name in ("english-plain", "korean-plain", "odd-auto-reply"):
        system.send(name)
    first = client.get("/api/emails", params={"limit": 2}).json()
    rest = client.get("/api/emails", params={"limit": 2, "cursor": first["next"]}).json()
    elsewhere = client.get("/api/emails", params={"status": "failed", "cursor": first["next"]})

    assert [len(first["emails"]), len(rest["emails"]), rest["next"]] == [2, 1, None]
    assert code(elsewhere) == (400, "invalid_cursor")
    for wrong in (
        {"status": "lost"},
        {"limit": 0},
        {"limit": 201},
        {"since": "x"},
        {"q": "x" * 201},
    ):
        assert client.get("/api/emails", params=wrong).status_code == 422
    naive = client.get("/api/emails", params={"since": "2025-11-03T00:00:00"})
    assert (code(naive), pointers(naive)) == ((422, "invalid"), ["/since"])


def test_a_mail_is_processed_again_once_at_a_time(system, client):
    email_id = system.send("english-plain")
    begun = client.post(f"/api/emails/{email_id}/process")
    twice = client.post(f"/api/emails/{email_id}/process")
    drain(system.engine)

    assert (begun.status_code, begun.json()["version"]) == (202, 2)
    assert code(twice) == (409, "wrong_state")
    assert len(system.rows()) == 1


def test_a_correction_is_written_or_refused_place_by_place(system, client):
    email_id = system.send("english-plain")
    address = f"/api/emails/{email_id}/extraction"
    wrong = client.put(address, json={"date": "soon", "people": []})
    empty = client.put(address, json={})
    taken = client.put(address, json={"date": "2025-12-24"})
    early = client.put(address, json={"date": "2025-12-25"})
    drain(system.engine)

    assert (code(wrong), set(pointers(wrong))) == ((422, "invalid"), {"/date", "/people"})
    assert code(empty) == (422, "invalid")
    assert code(client.put(address, json=[])) == (422, "invalid_request")
    assert taken.status_code == 200
    assert code(early) == (409, "wrong_state")
    found = client.get(f"/api/emails/{email_id}").json()
    assert (found["status"], found["extraction"]["date"]) == ("processed", "2025-12-24")


def test_a_poll_is_joined_while_it_is_under_way(client):
    first, second = client.post("/api/emails/fetch"), client.post("/api/emails/fetch")

    assert (first.status_code, first.json()["joined"]) == (202, False)
    assert second.json() == {"poll_id": first.json()["poll_id"], "joined": True}


def test_a_stream_has_the_present_state_and_ends_with_the_mail(system, client):
    email_id = system.send("english-plain")
    with client.stream("GET", f"/api/emails/{email_id}/events") as response:
        text = "".join(response.iter_text())
    lines = [line.partition(": ")[2] for line in text.splitlines()]
    seen = next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("id:"))
    again = client.get(f"/api/emails/{email_id}/events", headers={"Last-Event-ID": seen})

    assert "email.ended" in lines
    assert json.loads(next(line for line in lines if line.startswith("{")))["email_id"] == email_id
    assert again.status_code == 204
