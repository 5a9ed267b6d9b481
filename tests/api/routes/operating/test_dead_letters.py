"""The operator's workflow over HTTP: find, triage, remediate, replay, resolve."""

from holdfast.testing import drain
from tests.api.routes.operating.desk import NOBODY

TRIAGE = {"cause": "transient", "note": "the gateway was down"}
EVIDENCE = {"evidence": "the gateway answers again"}


def post(client, path, body=None):
    return client.post(f"/api/dead-letters/{path}", json=body)


def test_a_letter_goes_from_open_to_resolved(desk):
    (letter,) = desk.dead(1)
    operator = desk()

    triaged = post(operator, f"{letter}/triage", TRIAGE)
    remediated = post(operator, f"{letter}/remediate", EVIDENCE)
    replayed = post(operator, f"{letter}/replay", {"reason": "INC-7"})
    drain(desk.app)
    resolved = post(operator, f"{letter}/resolve", {"note": "it came through"})

    answers = [triaged, remediated, replayed, resolved]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.json()["standing"] for answer in answers] == [
        "triaged",
        "remediated",
        "replaying",
        "resolved",
    ]
    report = operator.get(f"/api/dead-letters/{letter}").json()
    assert report["job_state"] == "complete"
    assert {entry["by"] for entry in report["actions"]} == {"operator of all"}
    assert [entry["action"] for entry in report["actions"]][-3:] == [
        "replayed",
        "remediated",
        "triaged",
    ]


def test_a_step_too_early_is_refused_with_the_step_that_is_missing(desk):
    (letter,) = desk.dead(1)

    answer = post(desk(), f"{letter}/replay")

    assert answer.status_code == 409
    assert answer.json()["code"] == "step_missing"
    assert answer.json()["missing"] == "triage"


def test_a_job_without_a_key_is_sent_back_only_when_somebody_confirms(desk):
    (letter,) = desk.dead(1, keys=False)
    operator = desk()
    post(operator, f"{letter}/triage", TRIAGE)
    post(operator, f"{letter}/remediate", EVIDENCE)

    refused = post(operator, f"{letter}/replay")
    confirmed = post(operator, f"{letter}/replay", {"confirm_idempotent": True})

    assert (refused.status_code, confirmed.status_code) == (409, 200)


def test_letters_come_newest_first_and_page_by_page(desk):
    ids = desk.dead(*range(5))
    reader = desk("reader")

    seen, path = [], "/api/dead-letters?limit=2"
    while path:
        page = reader.get(path)
        seen.append([item["id"] for item in page.json()["items"]])
        path = page.links.get("next", {}).get("url")

    assert seen == [ids[4:2:-1], ids[2:0:-1], ids[:1]]


def test_letters_are_found_by_what_they_are(desk):
    desk.dead(1, 2)
    wanted = {
        "pipeline=p&stage=convert&error_class=GATEWAY_DOWN": 2,
        "state=open&state=triaged": 2,
        "state=resolved": 0,
        "escalated=true": 0,
        "owner=default": 2,
        "owner=other": 0,
        "failed_since=2999-01-01T00:00:00Z": 0,
        "failed_until=2999-01-01T00:00:00%2B02:00": 2,
    }

    reader = desk("reader")
    found = {
        query: len(reader.get(f"/api/dead-letters?{query}").json()["items"]) for query in wanted
    }

    assert found == wanted


def test_a_group_is_one_cause_with_a_sample(desk):
    ids = desk.dead(1, 2, 3)

    (group,) = desk("reader").get("/api/dead-letters/groups").json()["items"]

    assert group["letters"] == 3
    assert group["error_class"] == "GATEWAY_DOWN"
    assert group["sample_id"] in ids


def test_groups_count_the_letters_of_ones_own_owner(desk):
    desk.dead(1, 2, owner="a")
    desk.dead(3, owner="b")

    counts = [
        [group["letters"] for group in client.get("/api/dead-letters/groups").json()["items"]]
        for client in (desk("reader", "a"), desk("reader", "b"), desk("reader", "c"))
    ]

    assert counts == [[2], [1], []]


def test_nobody_sees_or_moves_a_letter_of_another_owner(desk):
    (letter,) = desk.dead(1, owner="a")
    other = desk("operator", "b")

    assert other.get("/api/dead-letters").json()["items"] == []
    assert post(other, f"{letter}/triage", TRIAGE).status_code == 404
    assert desk.app.dead.get(letter).standing == "open"


def test_what_makes_no_sense_is_refused_before_anything_is_looked_for(sqlite_desk):
    senseless = [
        ("triage", {"cause": "no such cause"}),
        ("triage", {"cause": "data", "state": "resolved"}),
        ("remediate", {}),
        ("remediate", {"evidence": ""}),
        ("resolve", {"note": "x", "unreplayed": "yes"}),
    ]

    answers = [post(sqlite_desk(), f"{NOBODY}/{path}", body) for path, body in senseless]

    assert [answer.status_code for answer in answers] == [422] * len(senseless)
    assert all(answer.json()["errors"] for answer in answers)


def test_a_resolved_letter_says_whether_its_job_ever_completed(desk):
    (letter,) = desk.dead(1)

    answer = post(desk(), f"{letter}/resolve", {"note": "not needed", "unreplayed": True})

    assert answer.json()["dismissed"] is True
