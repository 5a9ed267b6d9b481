"""What operators do: asked first, with a count, for a reason, and on record.

The list of actions is the application's own: one that has no case fails.
"""

import pytest

from holdfast import Submit
from holdfast.core.job.job import JobState
from holdfast.testing import drain
from tests.console.action_cases import CASES, OPEN_TO_ALL, WHY, Case, address, named, state
from tests.console.site import Form, Site, answered, chosen, form_of


def test_every_action_has_a_case_and_is_asked_where_it_is_done(small_site: Site):
    actions = set(small_site.console_routes("POST")) - OPEN_TO_ALL

    assert {case.path for case in CASES} == actions
    assert actions <= set(small_site.console_routes("GET"))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_an_action_asks_first_takes_a_reason_and_is_on_record(small_site: Site, case: Case):
    site = small_site
    filled = site.fill()
    case.before(site, filled)
    client = site.signed_in()
    path = address(site, filled, case)
    record = site.app.audit()

    page = client.get(path)
    assert page.status_code == 200
    assert case.touches in page.text
    assert site.app.audit() == record, "asking changes nothing"

    form = Form(page.text)
    fields = chosen(form.fields)
    refused = client.post(path, data={**fields, case.field: "   "})
    assert refused.status_code == 422
    assert "Fill in the" in refused.text
    assert site.app.audit() == record, "without a reason nothing is done"

    answer = client.post(path, data={**fields, case.field: WHY})
    assert answer.status_code == 303, answer.text
    assert case.follows(site, filled)
    done = client.get(answer.headers["location"])
    assert done.status_code == 200
    assert 'class="notice good"' in done.text

    first = record[0].id if record else 0
    entries = [entry for entry in site.app.audit() if entry.id > first]
    assert [
        entry
        for entry in entries
        if (entry.action, entry.done_by) == (case.action, "operator of all")
        and WHY in (entry.reason or "")
    ], entries


def test_what_stands_in_the_way_is_said_and_what_was_written_is_kept(site: Site):
    filled = site.fill()
    client = site.local()
    path = f"/dead-letters/{filled.failed}/remediate"

    answer = client.post(path, data={"evidence": "I looked at the graphs"})

    assert answer.status_code == 409
    assert "it has to be triaged first" in answer.text
    assert Form(answer.text).fields["evidence"] == "I looked at the graphs"


@pytest.mark.parametrize("field", ["canary", "rate", "stop_after"])
def test_a_number_that_is_none_is_told_and_starts_nothing(site: Site, field: str):
    site.dead(1)
    (group,) = site.app.dead.groups()
    client = site.local()
    path = f"/groups/{group.fingerprint}/replay"

    answers = {
        text: answered(client, path, evidence=WHY, **{field: text})
        for text in ("nan", "-inf", "1e400", "1e300", "-1", "ten", "1" * 400)
    }

    assert {
        text: answer.status_code for text, answer in answers.items() if answer.status_code != 422
    } == {}
    assert Form(answers["nan"].text).fields[field] == "nan"
    assert list(site.app.replays.latest()) == []


def test_two_who_do_the_same_do_it_once(site: Site):
    filled = site.fill()
    client = site.local()
    path = f"/jobs/{filled.failed}/retry"

    first = client.post(path, data={"reason": WHY})
    second = client.post(path, data={"reason": WHY})

    assert (first.status_code, second.status_code) == (303, 409)
    assert site.app.job(filled.failed).job.retries == 1


def test_a_bulk_cancel_needs_a_filter(site: Site):
    client = site.local()
    job = site.app.submit("p", {"n": 1}).id

    asked = client.get("/jobs/bulk/cancel")
    sent = client.post("/jobs/bulk/cancel", data={**Form(asked.text).fields, "reason": WHY})

    assert "Narrow the list first" in asked.text
    assert Form(asked.text).blocked
    assert sent.status_code == 422
    assert state(site, job) is JobState.QUEUED


def test_above_a_hundred_jobs_the_number_is_typed(site: Site):
    client, path = site.local(), "/jobs/bulk/cancel?queue=work"
    site.app.submit_many("p", [Submit({"n": n}) for n in range(101)])

    asked = client.get(path)
    unsaid = answered(client, path, reason=WHY)
    wrong = answered(client, path, reason=WHY, typed="100")
    right = answered(client, path, reason=WHY, typed="101")

    assert "Type 101 to confirm" in asked.text
    assert (unsaid.status_code, wrong.status_code, right.status_code) == (422, 422, 303)
    assert "Type the number of jobs, 101, to confirm; nothing was changed." in wrong.text
    assert "count=101" in right.headers["location"]


def test_a_bulk_action_leaves_alone_what_came_to_match_later(site: Site):
    client = site.local()
    before = [site.app.submit("p", {"n": n}).id for n in range(3)]
    form = form_of(client, "/jobs/bulk/cancel?queue=work")
    site.clock.advance(1)
    later = site.app.submit("p", {"n": 9}).id

    answer = client.post("/jobs/bulk/cancel", data={**form.fields, "reason": WHY})

    assert "count=3" in answer.headers["location"]
    assert "3 jobs cancelled." in client.get(answer.headers["location"]).text
    assert {state(site, job) for job in before} == {JobState.CANCELLED}
    assert state(site, later) is JobState.QUEUED


def test_a_bulk_action_touches_only_what_the_filter_names(site: Site):
    client = site.local()
    site.dead(1, 2)
    spared = site.dead(3, owner="other")[0]

    answer = answered(client, "/jobs/bulk/retry?key=k-1&state=failed", reason=WHY)

    assert "count=1" in answer.headers["location"]
    assert state(site, spared) is JobState.FAILED


def test_a_bulk_action_on_nothing_cannot_be_sent(site: Site):
    form = form_of(site.local(), "/jobs/bulk/retry?key=nothing")

    assert form.blocked
    answer = site.local().post("/jobs/bulk/retry", data={**form.fields, "reason": WHY})
    assert "count=0" in answer.headers["location"]


def test_a_group_whose_jobs_have_no_key_is_sent_only_when_somebody_vouches_for_it(site: Site):
    site.dead(1, 2, keys=False)
    (group,) = site.app.dead.groups()
    client = site.local()
    path = f"/groups/{group.fingerprint}/replay"
    assert "This sends 0 dead letters of 2." in client.get(path).text
    assert "2 left out, each because its job has no idempotency key" in client.get(path).text

    refused = answered(client, path, evidence=WHY)
    done = answered(client, path, evidence=WHY, confirm_idempotent="yes")

    assert refused.status_code == 422
    assert done.status_code == 303


def test_an_operator_gets_from_the_overview_to_a_resolved_group_without_scripts(site: Site):
    site.worker()
    ids = site.dead(1, 2, 3)
    client = site.local()
    (group,) = site.app.dead.groups()
    assert f"/groups/{group.fingerprint}/replay" in client.get("/").text

    started_at = answered(client, f"/groups/{group.fingerprint}/replay", evidence=WHY, rate="")
    replay_page = started_at.headers["location"].partition("?")[0]
    replay_id = replay_page.rpartition("/")[2]
    for _ in range(20):
        site.app.replays.advance(replay_id)
        drain(site.app)
        if site.app.replays.show(replay_id).ended:
            break
    assert "Verified: 3 jobs sent back and complete." in client.get(replay_page).text
    resolved = answered(client, f"{replay_page}/resolve", note="the gateway is back")

    assert "3 dead letters resolved." in client.get(resolved.headers["location"]).text
    assert {site.app.dead.get(job).standing.value for job in ids} == {"resolved"}
    assert "Everything is well." in client.get("/").text


def test_words_in_an_address_that_nobody_wrote_are_not_said(small_site: Site):
    page = small_site.local().get("/?done=%3Cb%3Eyou+won&count=1").text

    assert "you won" not in page
    assert "notice good" not in page
