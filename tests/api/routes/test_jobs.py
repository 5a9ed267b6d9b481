"""`/api/jobs` on both databases."""

from __future__ import annotations

import re
import threading

from holdfast import GiveUp, Pipeline, Submit
from holdfast.classify import PublicCode, PublicCodes
from holdfast.testing import Script, drain, run_inline

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def submit(client, payload=None, *, key=None, **more):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(
        "/api/jobs", json={"pipeline": "p", "payload": payload, **more}, headers=headers
    )


def test_a_new_job_is_created_with_its_place(client):
    answer = submit(client, {"a": [1, None, "é"]}, priority=0)

    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/jobs/{answer.json()['id']}"
    assert "idempotency-replayed" not in answer.headers
    found = client.get(answer.headers["location"]).json()
    assert (found["state"], found["payload"], found["priority"]) == (
        "queued",
        {"a": [1, None, "é"]},
        0,
    )
    assert (found["result"], found["error"]) == (None, None)


def test_the_same_key_and_body_answer_with_the_job_there_is(client):
    first = submit(client, {"n": 1}, key="order-1")

    again = submit(client, {"n": 1}, key="order-1")

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["location"] == first.headers["location"]


def test_the_key_of_a_removed_job_answers_with_what_is_known_of_it(client, app, clock):
    first = submit(client, {"n": 1}, key="order-1").json()
    drain(app)
    clock.advance(8 * 86_400)
    app.purge()

    again = submit(client, {"n": 1}, key="order-1")

    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert "location" not in again.headers
    known = again.json()
    assert (known["id"], known["state"], known["version"]) == (first["id"], "complete", 1)
    assert known["removed_at"] is not None
    assert (first["removed_at"], known["payload"]) == (None, None)
    assert client.get(f"/api/jobs/{first['id']}").status_code == 404


def test_the_same_key_with_another_body_is_refused_and_names_the_job(client):
    first = submit(client, {"n": 1}, key="order-1")

    other = submit(client, {"n": 2}, key="order-1")

    assert other.status_code == 422
    assert other.json()["code"] == "key_conflict"
    assert other.json()["job_id"] == first.json()["id"]
    assert len(client.get("/api/jobs").json()["items"]) == 1


def test_the_key_alone_decides_where_that_is_asked_for(client):
    first = submit(client, {"n": 1}, key="order-1")

    other = submit(client, {"n": 2}, key="order-1", key_alone=True)

    assert (other.status_code, other.json()["id"]) == (200, first.json()["id"])


def test_many_submissions_of_one_key_at_once_make_one_job(client):
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(submit(client, {"n": 1}, key="k")))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_rerun_needs_a_higher_version(client):
    submit(client, {"n": 1}, key="k")

    same = submit(client, {"n": 1}, key="k", rerun=True)
    higher = submit(client, {"n": 1}, key="k", rerun=True, version=2)

    assert (same.status_code, same.json()["code"]) == (409, "version_conflict")
    assert higher.status_code == 201
    assert higher.json()["rerun_of"] is not None


def test_a_job_can_be_due_later_and_have_a_deadline(client, clock):
    delayed = submit(client, delay=60, deadline=120).json()
    at = submit(
        client, run_at="2026-01-02T00:00:00+01:00", deadline_at="2026-01-03T00:00:00Z"
    ).json()

    assert delayed["label"] == "scheduled"
    assert delayed["run_at"] == "2026-01-01T00:01:00.000000Z"
    assert delayed["deadline_at"] == "2026-01-01T00:02:00.000000Z"
    assert at["run_at"] == "2026-01-01T23:00:00.000000Z"
    assert at["deadline_at"] == "2026-01-03T00:00:00.000000Z"


def test_the_trace_that_a_request_is_part_of_stays_with_its_job(client):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    answer = client.post("/api/jobs", json={"pipeline": "p"}, headers={"traceparent": trace})

    assert "0af7651916cd43dd8448eb211c80319c" in answer.json()["trace"]


def test_jobs_are_listed_newest_first_in_pages(client):
    made = [submit(client, n).json()["id"] for n in range(5)]

    seen, path = [], "/api/jobs?limit=2"
    for _ in range(3):
        page = client.get(path)
        seen.extend(item["id"] for item in page.json()["items"])
        if page.json()["next_cursor"] is None:
            break
        path = re.match(r'<([^>]+)>; rel="next"', page.headers["link"])[1]
        assert page.json()["next_cursor"] in path

    assert seen == made[::-1]
    assert "link" not in page.headers


def test_jobs_are_filtered_by_what_they_have_in_common(client, app, script):
    failed = submit(client, 1, queue="other").json()["id"]
    script._outcomes = (GiveUp("NOT_FOUND"),)
    run_inline(app)
    waiting = submit(client, 2, key="k", owner="ann").json()["id"]

    def listed(**query):
        return [item["id"] for item in client.get("/api/jobs", params=query).json()["items"]]

    assert listed(state="failed") == [failed]
    assert listed(state=["failed", "queued"]) == [waiting, failed]
    assert listed(queue="other") == [failed]
    assert listed(owner="ann") == listed(key="k") == [waiting]
    assert listed(error_class="NOT_FOUND") == [failed]
    assert listed(pipeline="q") == listed(stage="two") == []
    assert listed(created_since="2099-01-01T00:00:00Z") == []
    assert listed(created_until="2099-01-01T00:00:00Z", stage="one") == [waiting, failed]


def test_the_history_and_the_attempts_of_a_job_are_told(client, app, script):
    script._outcomes = (GiveUp("NOT_FOUND", "no such file"),)
    job_id = submit(client).json()["id"]
    run_inline(app)

    events = client.get(f"/api/jobs/{job_id}/events").json()["items"]
    attempts = client.get(f"/api/jobs/{job_id}/attempts").json()["items"]
    job = client.get(f"/api/jobs/{job_id}").json()

    assert [event["event"] for event in events] == ["queued", "processing", "failed"]
    assert [(line["stage"], line["attempt"], line["outcome"]) for line in attempts] == [
        ("one", 1, "failed")
    ]
    assert attempts[0]["error_class"] == job["error_class"] == "NOT_FOUND"
    assert job["error"]["message"] == "no such file"
    times = [event["at"] for event in events] + [attempts[0]["started_at"], job["finished_at"]]
    assert all(RFC_3339.fullmatch(time) for time in times)


def test_the_results_of_a_complete_job_are_told_by_stage(client, app):
    job_id = submit(client).json()["id"]
    run_inline(app)

    assert client.get(f"/api/jobs/{job_id}/results").json() == {"results": {"one": 1}}
    assert client.get(f"/api/jobs/{job_id}").json()["result"] == 1


def test_of_a_failed_job_users_are_told_what_its_pipeline_has_public_codes_for(client, app):
    codes = PublicCodes({"GONE": PublicCode(message="It is gone.")}, default="GONE")
    public = Pipeline("public", public_codes=codes)
    public.stage(name="look")(Script(then=GiveUp("NOT_THERE", "10.0.0.7 has no such page")).handler)
    app.add(public)
    told = client.get(f"/api/jobs/{app.submit('public').id}").json()
    assert (told["error_code"], told["error_message"]) == (None, None)

    drain(app)
    told = client.get(f"/api/jobs/{told['id']}").json()

    assert (told["error_code"], told["error_message"]) == ("GONE", "It is gone.")
    assert told["error"]["error_class"] == "NOT_THERE"


def test_a_failed_job_is_sent_back_and_a_queued_one_ended(client, app, script):
    script._outcomes = (GiveUp("NOT_FOUND"),)
    job_id = submit(client).json()["id"]
    run_inline(app)

    back = client.post(f"/api/jobs/{job_id}/retry", json={"reason": "found it"})
    again = client.post(f"/api/jobs/{job_id}/retry")
    ended = client.post(f"/api/jobs/{job_id}/cancel", json={"reason": "not needed"})
    events = client.get(f"/api/jobs/{job_id}/events").json()["items"]

    assert (back.status_code, back.json()["state"]) == (200, "queued")
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")
    assert (again.json()["state"], again.json()["allowed"]) == ("queued", ["failed"])
    assert (ended.status_code, ended.json()["state"]) == (200, "cancelled")
    assert all(line["meta"]["attempt"] == line["attempt"] for line in events)
    assert [(line["meta"]["by"], line["meta"]["reason"]) for line in events[-2:]] == [
        ("local", "found it"),
        ("local", "not needed"),
    ]


def test_a_dry_run_counts_and_changes_nothing(client):
    for n in range(3):
        submit(client, n)

    answer = client.post(
        "/api/jobs/cancel", json={"filter": {"pipeline": "p"}, "reason": "why", "dry_run": True}
    )

    assert answer.json() == {
        "action": "cancel",
        "dry_run": True,
        "matched": 3,
        "at_least": False,
        "changed": 0,
        "refused": {},
        "next_cursor": None,
    }
    assert {item["state"] for item in client.get("/api/jobs").json()["items"]} == {"queued"}


def test_a_bulk_action_goes_on_where_it_stopped_and_leaves_later_jobs_alone(client, clock):
    for n in range(5):
        submit(client, n)
    body = {"filter": {"queue": "default"}, "reason": "wrong file", "limit": 2}
    clock.advance(1)

    parts = [client.post("/api/jobs/cancel", json=body).json()]
    clock.advance(1)
    later = submit(client, "later").json()["id"]
    while parts[-1]["next_cursor"] is not None:
        body["cursor"] = parts[-1]["next_cursor"]
        parts.append(client.post("/api/jobs/cancel", json=body).json())

    assert [part["changed"] for part in parts] == [2, 2, 1]
    left = client.get("/api/jobs", params={"state": "queued"}).json()["items"]
    assert [item["id"] for item in left] == [later]


def test_failed_jobs_are_sent_back_by_filter_with_the_reason_in_their_history(client, app, script):
    script._outcomes = (GiveUp("NOT_FOUND"), GiveUp("OTHER"))
    ids = [submit(client, n).json()["id"] for n in range(2)]
    run_inline(app)

    answer = client.post(
        "/api/jobs/retry",
        json={
            "filter": {"error_class": "NOT_FOUND"},
            "reason": "it is there now",
            "from_start": True,
        },
    )

    assert (answer.json()["matched"], answer.json()["changed"]) == (1, 1)
    states = {job_id: client.get(f"/api/jobs/{job_id}").json()["state"] for job_id in ids}
    assert sorted(states.values()) == ["failed", "queued"]
    back = next(job_id for job_id, state in states.items() if state == "queued")
    last = client.get(f"/api/jobs/{back}/events").json()["items"][-1]
    assert last["meta"]["reason"] == "it is there now"


def test_every_failed_job_is_meant_only_when_that_is_said(client, app, script):
    script._outcomes = (GiveUp("NOT_FOUND"),)
    submit(client)
    run_inline(app)
    body = {"filter": {}, "reason": "start over"}

    refused = client.post("/api/jobs/retry", json=body)
    answer = client.post("/api/jobs/retry", json=body | {"everything": True})

    assert refused.status_code == 422
    assert answer.json()["changed"] == 1


def test_more_than_a_hundred_jobs_are_ended_only_by_their_number(client, app):
    app.submit_many("p", [Submit(n) for n in range(101)])
    body = {"filter": {"pipeline": "p"}, "reason": "wrong file"}

    refused = [
        client.post("/api/jobs/cancel", json=body | said) for said in ({}, {"expected_count": 100})
    ]
    answer = client.post("/api/jobs/cancel", json=body | {"expected_count": 101})

    assert [each.status_code for each in refused] == [422, 422]
    (flaw,) = refused[0].json()["errors"]
    assert flaw["pointer"] == "/expected_count"
    assert "must be 101" in flaw["message"]
    assert answer.json()["changed"] == 101
