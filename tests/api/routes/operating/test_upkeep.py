"""Upstreams, queues, workers, the record and tokens over HTTP."""

import json

from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import FailedCall, Gate, UpstreamState
from holdfast.store.contract import WorkerRow
from tests.api.routes.operating.desk import NOBODY


def test_an_upstream_is_told_with_what_was_done_to_it(desk):
    operator = desk()

    opened = operator.post(
        "/api/upstreams/gateway/breaker", json={"action": "open", "reason": "they said so"}
    )

    assert (opened.status_code, opened.json()["breaker"]) == (200, "open")
    (listed,) = desk("reader").get("/api/upstreams").json()["items"]
    assert (listed["upstream"], listed["forced_by"]) == ("gateway", "operator of all")
    report = desk("reader").get("/api/upstreams/gateway").json()
    assert [(entry["action"], entry["reason"]) for entry in report["actions"]] == [
        ("forced open", "they said so")
    ]


def test_a_rate_is_told_with_what_is_left_of_it(desk):
    rows, now = desk.app.store.upstreams, desk.app.clock.now()
    without = desk("reader").get("/api/upstreams/gateway").json()
    bucket = Bucket("notion", begun=7, calls=3, per_us=1_000_000, burst=3)
    assert rows.save_bucket(bucket, now=now) is not None

    report = desk("reader").get("/api/upstreams/notion").json()

    assert without["rate"] is None
    assert report["rate"] == {
        "calls": 3,
        "per_seconds": 1.0,
        "burst": 3,
        "room": 3,
        "room_at": None,
        "out": 0,
        "begun": 7,
        "short": False,
    }


def test_why_a_breaker_opened_is_told_newest_failure_first(desk):
    rows, now = desk.app.store.upstreams, desk.app.clock.now()
    calls = tuple(FailedCall(now, "NETWORK", f"refused {n}", NOBODY) for n in (1, 2))
    rows.save(
        UpstreamState("gateway", gate=Gate.OPEN, reason="2 calls in a row failed", failures=calls),
        now=now,
    )

    report = desk("reader").get("/api/upstreams/gateway").json()

    assert report["reason"] == "2 calls in a row failed"
    assert [call["message"] for call in report["failures"]] == ["refused 2", "refused 1"]
    assert report["failures"][0]["job_id"] == NOBODY
    assert report["held_jobs"] == 0


def test_a_breaker_is_held_closed_and_let_go_of(desk):
    def order(action):
        answer = desk().post("/api/upstreams/gateway/breaker", json={"action": action})
        return answer.json()["breaker"], answer.json()["forced_by"] is not None

    assert order("open") == ("open", True)
    assert order("close") == ("closed", True)
    assert order("reset") == ("closed", False)


def test_a_breaker_that_waits_for_nothing_cannot_be_probed(desk):
    answer = desk().post("/api/upstreams/gateway/breaker", json={"action": "probe"})

    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_a_mistyped_upstream_does_not_become_a_new_one(desk):
    answer = desk().post("/api/upstreams/gatewai/breaker", json={"action": "open"})

    assert (answer.status_code, answer.json()["code"]) == (404, "upstream_not_found")
    assert [item["upstream"] for item in desk().get("/api/upstreams").json()["items"]] == [
        "gateway"
    ]


def test_a_queue_is_paused_once_and_resumed_once_and_both_are_on_record(desk):
    operator = desk()

    said = [
        operator.post(f"/api/queues/default/{verb}", json={"reason": "maintenance"}).json()
        for verb in ("pause", "pause", "resume", "resume")
    ]

    assert [(each["paused"], each["changed"]) for each in said] == [
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]
    record = desk("reader").get("/api/audit?subject_kind=queue&subject=default").json()["items"]
    assert [(entry["action"], entry["by"], entry["reason"]) for entry in record] == [
        ("resumed", "operator of all", "maintenance"),
        ("paused", "operator of all", "maintenance"),
    ]


def test_a_queue_is_told_with_what_waits_in_it(desk):
    desk.app.submit("p", {"n": 1})
    desk.app.pause_queue("default", by="ada")

    (queue,) = desk("reader").get("/api/queues").json()["items"]

    assert (queue["queue"], queue["due"], queue["paused_by"]) == ("default", 1, "ada")
    assert queue["paused_at"].endswith("Z")


def test_a_worker_is_told_and_asked_to_end(desk):
    now = desk.clock.now()
    desk.app.store.record_worker(
        WorkerRow("w-1", "host", 7, now, now, json.dumps(["default"]), 4, "running")
    )

    (before,) = desk("reader").get("/api/workers").json()["items"]
    drained = desk().post("/api/workers/w-1/drain", json={"reason": "new version"})
    unknown = desk().post("/api/workers/w-2/drain")

    assert (before["queues"], before["state"], before["drain_asked_at"]) == (
        ["default"],
        "running",
        None,
    )
    assert drained.status_code == 200
    assert drained.json()["drain_asked_at"] is not None
    assert (unknown.status_code, unknown.json()["code"]) == (404, "worker_not_found")


def test_a_worker_that_ended_without_a_word_is_silent(desk):
    now = desk.clock.now()
    desk.app.store.record_worker(WorkerRow("w-1", "host", 7, now, now, "[]", 4, "running"))
    desk.clock.advance(3600)

    (worker,) = desk("reader").get("/api/workers").json()["items"]

    assert worker["state"] == "silent"


def test_the_record_comes_page_by_page(desk):
    for number in range(5):
        desk.app.pause_queue(f"q{number}", by="ada")

    seen, path = [], "/api/audit?subject_kind=queue&limit=2"
    while path:
        page = desk("reader").get(path)
        seen.append([entry["subject"] for entry in page.json()["items"]])
        path = page.links.get("next", {}).get("url")

    assert seen == [["q4", "q3"], ["q2", "q1"], ["q0"]]


def test_a_token_is_shown_once_and_lets_its_bearer_in(desk):
    made = desk().post("/api/tokens", json={"name": "ci", "role": "reader", "owner": "a"})

    assert made.status_code == 201
    secret = made.json()["token"]
    assert desk.visitor(secret).get("/api/dead-letters").status_code == 200
    listed = desk().get("/api/tokens")
    assert secret not in listed.text
    assert ("ci", "reader", "a") in [
        (item["name"], item["role"], item["owner"]) for item in listed.json()["items"]
    ]


def test_a_revoked_token_lets_nobody_in(desk):
    made = desk().post("/api/tokens", json={"name": "ci", "role": "operator"}).json()
    client = desk.visitor(made["token"])
    before = client.get("/api/queues")

    revoked = desk().post(f"/api/tokens/{made['id']}/revoke", json={"reason": "it leaked"})
    after = client.get("/api/queues")

    assert before.status_code == 200
    assert revoked.json()["revoked_at"] is not None
    assert (after.status_code, after.json()["code"]) == (401, "credentials_refused")
    unknown = desk().post(f"/api/tokens/{NOBODY}/revoke")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "token_not_found")


def test_who_made_and_revoked_a_token_is_on_record_and_the_token_is_not(desk):
    made = desk().post("/api/tokens", json={"name": "ci", "role": "operator"}).json()
    desk().post(f"/api/tokens/{made['id']}/revoke")

    record = desk().get(f"/api/audit?subject_kind=token&subject={made['id']}")

    assert [(entry["action"], entry["by"]) for entry in record.json()["items"]] == [
        ("revoked", "operator of all"),
        ("created", "operator of all"),
    ]
    assert made["token"] not in record.text


def test_what_needs_a_person_is_listed_with_what_to_do(desk):
    desk.app.submit("p", {"n": 1}, queue="lonely")

    (entry,) = [
        each
        for each in desk("reader").get("/api/attention").json()["items"]
        if each["kind"] == "no_worker"
    ]

    assert (entry["urgency"], entry["whose"], entry["count"]) == ("critical", "operator", 1)
    assert entry["action"]["command"] == "holdfast -A module:app worker --queues lonely"
    assert entry["since"].endswith("Z")


def test_a_pause_says_why_and_whether_the_queue_is_known(desk):
    body = {"reason": "the gateway is moved"}
    known = desk().post("/api/queues/default/pause", json=body).json()
    unknown = desk().post("/api/queues/defalt/pause", json=body).json()

    queues = {each["queue"]: each for each in desk("reader").get("/api/queues").json()["items"]}
    assert (known["known"], unknown["known"]) == (True, False)
    assert queues["default"]["paused_reason"] == "the gateway is moved"
    assert queues["default"]["expired"] == 0
