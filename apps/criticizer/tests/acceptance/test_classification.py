"""Every row of the table of failures: what is retried and what is not, over HTTP."""

import pytest

from apps.criticizer.tests.llm_server import Answer
from tests.deployed.scripted_server import Reply, json_reply

NOT_A_DIFF = Reply(body=b"<html>Sign in</html>")


def mail_error(status, name):
    return json_reply({"name": name, "message": "no"}, status=status)


FETCHED_AGAIN = {
    "reset": Reply(cut="before"),
    "cut off": Reply(cut="body", body=b"--- a/x\n+++ b/x\n"),
    "502": Reply(status=502),
    "503": Reply(status=503),
    "504": Reply(status=504),
    "429": Reply(status=429),
}
FETCHED_ONCE = {
    "404": (Reply(status=404), "NOT_FOUND"),
    "401": (Reply(status=401), "AUTH_DENIED"),
    "403": (Reply(status=403), "AUTH_DENIED"),
    "no diff": (NOT_A_DIFF, "SCHEMA_INVALID"),
}
ASKED_AGAIN = {
    "internal error": Answer(status=500, code="internal_error"),
    "rate limit": Answer(status=429, code="rate_limit_exceeded"),
    "no JSON": Answer(text="I think it is fine."),
    "another form": Answer(text='{"summary": 7}'),
    "503": Answer(status=503),
}
ASKED_ONCE = {
    "bad key": (Answer(status=401, code="invalid_api_key"), "AUTH_DENIED"),
    "not allowed": (Answer(status=403, code="permission_denied"), "AUTH_DENIED"),
    "refused": (Answer(text=None, refusal="I will not."), "CONTENT_POLICY"),
    "filtered": (Answer(finish="content_filter"), "CONTENT_POLICY"),
    "bad request": (Answer(status=400, code="invalid_request_error"), "INVALID"),
}
SENT_AGAIN = {
    "5xx": mail_error(500, "internal_server_error"),
    "503": mail_error(503, "service_unavailable"),
    "429": mail_error(429, "rate_limit_exceeded"),
    "conflict": mail_error(409, "concurrent_idempotent_requests"),
    "reset": Reply(cut="before"),
}
SENT_ONCE = {
    "bad recipient": (mail_error(422, "validation_error"), "INVALID"),
    "bad key": (mail_error(401, "missing_api_key"), "AUTH_DENIED"),
    "not allowed": (mail_error(403, "invalid_api_key"), "AUTH_DENIED"),
}


def _change(case):
    return "cl-" + case.replace(" ", "-")


@pytest.mark.parametrize("case", FETCHED_AGAIN)
def test_a_source_that_may_recover_is_asked_again(site, case):
    before = len(site.changes.calls)
    site.changes.then(FETCHED_AGAIN[case])

    review = site.reviewed(changelist_id=_change(f"fetch {case}"))

    assert review["status"] == "succeeded"
    assert len(site.changes.calls) - before == 2


@pytest.mark.parametrize("case", FETCHED_ONCE)
def test_a_source_that_says_no_is_asked_once(site, case):
    reply, error_class = FETCHED_ONCE[case]
    before = len(site.changes.calls)
    site.changes.then(reply)

    review = site.reviewed(changelist_id=_change(f"fetch {case}"))

    assert (review["status"], review["stage"]) == ("dead_lettered", "fetch")
    assert review["error"]["error_class"] == error_class
    assert len(site.changes.calls) - before == 1


@pytest.mark.parametrize("case", ASKED_AGAIN)
def test_a_model_that_may_do_better_is_asked_again(site, case):
    before = len(site.llm.calls)
    site.llm.say(ASKED_AGAIN[case])

    review = site.reviewed(changelist_id=_change(f"llm {case}"))

    assert review["status"] == "succeeded"
    assert len(site.llm.calls) - before == 2


@pytest.mark.parametrize("case", ASKED_ONCE)
def test_a_model_that_says_no_is_asked_once(site, case):
    answer, error_class = ASKED_ONCE[case]
    before = len(site.llm.calls)
    site.llm.say(answer)

    review = site.reviewed(changelist_id=_change(f"llm {case}"))

    assert (review["status"], review["stage"]) == ("dead_lettered", "llm")
    assert review["error"]["error_class"] == error_class
    assert len(site.llm.calls) - before == 1


@pytest.mark.parametrize("case", SENT_AGAIN)
def test_a_mail_service_that_may_recover_gets_the_mail_again_and_sends_it_once(site, case):
    to = f"{_change(case)}@example.org"
    site.mail.before = lambda mail, number: SENT_AGAIN[case] if number == 1 else None

    review = site.reviewed(changelist_id=_change(f"mail {case}"), recipients=[to])

    assert review["status"] == "succeeded"
    assert site.mail.sends.count(to) == 2
    assert site.mail.told()[to] == 1


@pytest.mark.parametrize("case", SENT_ONCE)
def test_a_mail_service_that_says_no_fails_that_recipient_alone(site, case):
    reply, error_class = SENT_ONCE[case]
    refused, fine = f"{_change(case)}@bad.example", f"{_change(case)}@good.example"
    site.mail.before = lambda mail, _: reply if refused in mail["to"] else None

    review = site.reviewed(changelist_id=_change(f"mail {case}"), recipients=[refused, fine])

    assert (review["status"], review["stage"]) == ("dead_lettered", "notify")
    assert review["error"]["error_class"] == error_class
    assert [each["status"] for each in review["deliveries"]] == ["failed", "sent"]
    assert site.mail.sends.count(refused) == 1
    assert site.mail.told()[fine] == 1
