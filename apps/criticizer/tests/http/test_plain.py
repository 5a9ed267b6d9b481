"""The pages for browsers without scripts: the list, the form that asks, and one review."""

import re

import pytest

from criticizer.sources.errors import ChangeMissing

FORM = {
    "changelist_id": "HEAD~1..HEAD",
    "review_version": "1",
    "recipients": "ada@example.org, bob@example.org",
    "idempotency_key": "k-1",
}
PLACE = "/api/review-pages"
OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def asked(criticizer):
    criticizer.source.names["HEAD~1..HEAD"] = f"{OLD}..{NEW}"


def test_a_review_is_asked_for_and_shown_without_scripts(visit, criticizer, asked):
    client = visit()
    sent = client.post(PLACE, data=FORM, follow_redirects=False)
    criticizer.run()

    assert sent.status_code == 303
    shown = client.get(sent.headers["location"])
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    for said in ("Add a loop", "Never used.", "A loop was added.", "a***@example.org", "+loop"):
        assert said in shown.text
    assert f"{OLD} to {NEW}" in shown.text
    listed = client.get(PLACE).text
    assert "HEAD~1..HEAD (aaaaaaaaaa..bbbbbbbbbb) · team/rope · version 1" in listed
    assert "1 finding · 2 of 2 told" in listed
    assert "<script" not in shown.text + listed


def test_nobody_need_be_told(visit, criticizer, asked):
    client = visit()
    sent = client.post(PLACE, data={**FORM, "recipients": ""}, follow_redirects=False)
    criticizer.run()

    assert "Nobody: none was named." in client.get(sent.headers["location"]).text
    assert criticizer.told() == []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"changelist_id": ""}, "Name a commit, a range such as HEAD~1..HEAD"),
        ({"review_version": "soon"}, "A whole number from 1 to"),
        ({"recipients": "ada"}, "Addresses like ada@example.org"),
    ],
)
def test_a_form_that_does_not_fit_is_shown_again_with_what_to_correct(
    visit, criticizer, changed, line
):
    answer = visit().post(PLACE, data={**FORM, **changed})

    assert answer.status_code == 422
    assert line in answer.text
    assert 'aria-invalid="true"' in answer.text
    for name, value in {**FORM, **changed}.items():
        if name != "idempotency_key" and value:
            assert f'value="{value}"' in answer.text
    assert criticizer.app.jobs() == []


def test_a_mistyped_change_is_said_beside_its_field(visit, criticizer):
    criticizer.source.unpinned.append(ChangeMissing("the repository has no <HAED>"))

    answer = visit().post(PLACE, data={**FORM, "changelist_id": "HAED"})

    assert answer.status_code == 422
    assert "The repository has no &lt;HAED&gt;." in answer.text


def test_with_a_session_the_form_has_to_carry_its_token(visit, criticizer, asked):
    client = visit()
    client.post("/api/session")
    del client.headers["Authorization"]

    refused = client.post(PLACE, data=FORM)
    (token,) = re.findall(r'name="csrf_token" value="([^"]+)"', client.get(PLACE).text)
    taken = client.post(PLACE, data={**FORM, "csrf_token": token}, follow_redirects=False)

    assert (refused.status_code, taken.status_code) == (403, 303)


def test_who_may_only_read_gets_no_form_and_strangers_nothing(visit, criticizer, asked):
    made = criticizer.ask(owner="ada")
    _, reader = criticizer.app.tokens.create("bob", role="reader", owner="bob", by="test")

    assert "<form" not in visit(reader).get(PLACE).text
    assert visit(reader).get(f"{PLACE}/{made.job.id}").status_code == 404
    assert visit(None).get(PLACE).status_code == 401
