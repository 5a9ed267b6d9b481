"""Who may do what: every route as everybody."""

import pytest

from apps.collabiq.tests.running import MAILBOX, raw_of

OTHER = "somebody@example.com"
WHO = {
    "nobody": (None, None),
    "reader": ("reader", None),
    "submitter": ("submitter", None),
    "operator": ("operator", None),
    "own operator": ("operator", MAILBOX),
    "other reader": ("reader", OTHER),
    "other submitter": ("submitter", OTHER),
    "other operator": ("operator", OTHER),
}
EVERYBODY = list(WHO)
MAIL = {"content": b"no mail", "headers": {"Content-Type": "message/rfc822"}}
EMPTY = {"json": {"reason": " "}}
ROUTES = [
    # What each of WHO gets, in that order; 422 and 409 are answers to those who may.
    ("GET", "emails", {}, (401, 200, 200, 200, 200, 200, 200, 200)),
    ("GET", "emails/{id}", {}, (401, 200, 200, 200, 200, 404, 404, 404)),
    ("GET", "emails/{id}/events", {}, (401, 200, 200, 200, 200, 404, 404, 404)),
    ("POST", "emails/fetch", {}, (401, 403, 202, 202, 202, 403, 403, 403)),
    ("POST", "emails", MAIL, (401, 403, 422, 422, 422, 403, 403, 403)),
    ("POST", "emails/{id}/process", {}, (401, 403, 403, 202, 409, 403, 403, 404)),
    ("PUT", "emails/{id}/extraction", {"json": {}}, (401, 403, 403, 409, 409, 403, 403, 404)),
    ("GET", "dlq", {}, (401, 200, 200, 200, 403, 403, 403, 403)),
    ("GET", "dlq/{dlq}", {}, (401, 200, 200, 200, 403, 403, 403, 403)),
    ("PUT", "dlq/{dlq}", {"json": {}}, (401, 403, 403, 422, 403, 403, 403, 403)),
    ("POST", "dlq/replay", {"json": {}}, (401, 403, 403, 422, 403, 403, 403, 403)),
    ("POST", "dlq/{dlq}/complete", EMPTY, (401, 403, 403, 422, 422, 403, 403, 404)),
    ("POST", "dlq/{dlq}/replay", {}, (401, 403, 403, 202, 409, 403, 403, 404)),
    ("GET", "errors", {}, (401, 200, 200, 200, 403, 403, 403, 403)),
    ("GET", "circuits", {}, (401, 200, 200, 200, 403, 403, 403, 403)),
    ("GET", "collabiq/status", {}, (401, 200, 200, 200, 200, 200, 200, 200)),
    ("GET", "collabiq/rules", {}, (401, 200, 200, 200, 200, 200, 200, 200)),
    ("GET", "collabiq/config", {}, (401, 403, 403, 200, 200, 403, 403, 200)),
    ("POST", "gmail/notifications", {}, (401,) * 8),
]


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One dialect: who may do what is decided by the engine, and tested there with both."""
    return sqlite_url


def test_every_route_lets_in_whom_it_should(system, visit):
    written = system.send("korean-plain")
    system.serving.fault = "invalid"
    failed = system.send("english-plain")
    system.serving.fault = None
    dlq_id = system.collabiq.emails.item(failed)["dlq_id"]
    clients = {name: visit(*who) for name, who in WHO.items()}

    wrong = []
    for method, path, given, expected in ROUTES:
        address = "/api/" + path.format(id=written, dlq=dlq_id)
        for name, status in zip(EVERYBODY, expected, strict=True):
            found = clients[name].request(method, address, **given).status_code
            if found != status:
                wrong.append((method, path, name, found, status))

    assert wrong == []


def test_every_route_was_tried_and_says_what_it_does_and_what_it_answers(visit):
    document = visit("reader").get("/api/openapi.json").json()

    tried = {
        (method, "/api/" + path.format(id="{email_id}", dlq="{dlq_id}"))
        for method, path, *_ in ROUTES
    }
    nouns = ("emails", "dlq", "errors", "circuits", "collabiq", "gmail")
    described = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if path.startswith("/api/") and path.split("/")[2] in nouns
    }
    assert described == tried
    for method, path in sorted(described):
        found = document["paths"][path][method.lower()]
        assert found["description"], path
        assert found.get("x-role") or path == "/api/gmail/notifications", path


def test_a_mail_that_was_sent_in_belongs_to_the_mailbox(system, visit):
    sent = visit("submitter").post(
        "/api/emails",
        content=raw_of("english-plain"),
        headers={"Content-Type": "message/rfc822"},
    )

    email_id = sent.json()["email_id"]
    assert sent.status_code == 201
    assert visit("reader", MAILBOX).get(f"/api/emails/{email_id}").status_code == 200
    assert visit("reader", OTHER).get("/api/emails").json() == {"emails": [], "next": None}
