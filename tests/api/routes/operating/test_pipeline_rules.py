"""Over HTTP, too, a pipeline says who submits and who retries."""

import pytest

from holdfast import GiveUp, Pipeline
from holdfast.testing import drain
from tests.api.routes.operating.desk import Desk

PLACE = "POST /api/parcels"


@pytest.fixture
def desk(database_url):
    made = Desk(database_url)
    yield made
    made.close()


def parcels(desk: Desk, **rules: str) -> None:
    made = Pipeline("parcels", **rules)

    @made.stage
    def send(job):
        raise GiveUp("NO_ADDRESS", "nobody lives there")

    desk.app.add(made)


def failed(desk: Desk, owner: str = "a") -> str:
    job_id = desk.app.submit("parcels", owner=owner, key="k").id
    drain(desk.app)
    return job_id


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def test_a_closed_pipeline_takes_no_job_and_the_answer_says_who_does(desk):
    parcels(desk, submit_by="system", submit_at=PLACE)

    answer = desk().post("/api/jobs", json={"pipeline": "parcels"})

    assert refusal(answer) == (403, "pipeline_closed")
    assert PLACE in answer.json()["detail"]
    assert desk.app.jobs() == []


@pytest.mark.parametrize(
    ("rule", "role", "owner", "code"),
    [
        ("owner", "submitter", "a", None),
        ("operator", "submitter", "a", "retry_not_allowed"),
        ("operator", "operator", "a", None),
        ("operator", "operator", None, None),
        ("workflow", "submitter", "a", "retry_not_allowed"),
        ("workflow", "operator", "a", "retry_not_allowed"),
        ("workflow", "operator", None, "retry_not_allowed"),
    ],
)
def test_whoever_may_not_send_a_job_back_is_told_who_does(desk, rule, role, owner, code):
    parcels(desk, retry_by=rule)
    job_id = failed(desk)

    answer = desk(role, owner).post(f"/api/jobs/{job_id}/retry")

    if code is None:
        assert answer.json()["state"] == "queued"
    else:
        assert refusal(answer) == (409, code)
        assert "operators" in answer.json()["detail"]
        assert desk.app.job(job_id).state == "failed"


def test_many_of_such_a_pipeline_are_refused_also_when_only_counted(desk):
    parcels(desk, retry_by="workflow")
    failed(desk)

    for dry_run in (True, False):
        asked = {"filter": {"pipeline": "parcels"}, "reason": "again", "dry_run": dry_run}
        answer = desk().post("/api/jobs/retry", json=asked)
        assert refusal(answer) == (409, "retry_not_allowed")


def test_among_many_those_are_left_alone_and_counted(desk):
    parcels(desk, retry_by="workflow")
    job_id, (other,) = failed(desk), desk.dead(1)

    asked = {"filter": {}, "everything": True, "reason": "again"}
    told = desk().post("/api/jobs/retry", json=asked).json()

    assert (told["matched"], told["changed"]) == (2, 1)
    ((reason, count),) = told["refused"].items()
    assert ("as dead letters" in reason, count) == (True, 1)
    assert (desk.app.job(job_id).state, desk.app.job(other).state) == ("failed", "queued")
