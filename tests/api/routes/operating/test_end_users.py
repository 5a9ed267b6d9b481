"""What whom is shown of a failure, and what a pipeline adds to the documents of its own jobs."""

import pytest

from holdfast import GiveUp, Pipeline, Retry
from holdfast.testing import Script, drain
from holdfast.views.disclosure import NO_MORE_TO_SAY, unnamed
from tests.api.routes.operating.desk import Desk

SAID = "at /srv/shop, by hunter"


def fields(view):
    error = view.error or {}
    return {
        "status": view.state.value,
        "leased_by": view.job.holder,
        "why": error.get("message"),
        "id": "not this one",
    }


def broken(_view):
    raise KeyError(SAID)


@pytest.fixture
def desk(database_url):
    made = Desk(database_url)
    script = Script(then=GiveUp("NOT_WANTED", SAID))
    for name, document in (("shaped", fields), ("broken", broken)):
        pipeline = Pipeline(name, retry=Retry(attempts=1), document=document)
        pipeline.stage(name="one")(script.handler)
        made.app.add(pipeline)
    yield made
    made.close()


def read(client, job_id):
    return client.get(f"/api/jobs/{job_id}").json()


def test_an_end_user_of_a_pipeline_without_codes_gets_the_class_and_a_line_that_says_nothing(desk):
    (job_id,) = desk.dead(1, owner="a")

    for role in ("reader", "submitter"):
        document = read(desk(role, "a"), job_id)
        assert (document["error_code"], document["error_message"]) == (
            "GATEWAY_DOWN",
            NO_MORE_TO_SAY,
        )
        assert document["error"] == {"error_class": "GATEWAY_DOWN", "message": NO_MORE_TO_SAY}
        events = desk(role, "a").get(f"/api/jobs/{job_id}/events").json()["items"]
        assert "message" not in events[-1]["meta"]
        assert events[-1]["meta"]["error_message"] == NO_MORE_TO_SAY


@pytest.mark.parametrize(
    ("role", "owner"),
    [("operator", "a"), ("operator", None), ("reader", None), ("submitter", None)],
)
def test_operators_and_those_who_see_every_owner_get_all_of_it(desk, role, owner):
    (job_id,) = desk.dead(1, owner="a")

    document = read(desk(role, owner), job_id)
    events = desk(role, owner).get(f"/api/jobs/{job_id}/events").json()["items"]

    assert document["error"]["message"] == "no answer for 1"
    assert (document["error_code"], document["error_message"]) == ("GATEWAY_DOWN", None)
    assert events[-1]["meta"]["message"] == "no answer for 1"
    assert events[1]["meta"]["worker"] == "inline"


def test_an_end_user_knows_a_worker_again_and_no_more_of_it(desk):
    (job_id,) = desk.dead(1, owner="a")
    ada = desk("submitter", "a")

    events = ada.get(f"/api/jobs/{job_id}/events").json()["items"]
    (attempt,) = ada.get(f"/api/jobs/{job_id}/attempts").json()["items"]

    assert events[1]["meta"]["worker"] == attempt["worker"] == unnamed("inline")
    assert attempt["worker"].startswith("worker-")
    assert "inline" not in attempt["worker"]
    assert unnamed("host-1-0a") != unnamed("host-1-0b")


def test_a_pipeline_adds_fields_to_the_documents_of_its_jobs(desk):
    made = desk("submitter", "a").post("/api/jobs", json={"pipeline": "shaped"}).json()
    drain(desk.app)

    for document in (
        read(desk("submitter", "a"), made["id"]),
        desk("submitter", "a").get("/api/jobs").json()["items"][0],
    ):
        assert (document["status"], document["why"], document["leased_by"]) == (
            "failed",
            NO_MORE_TO_SAY,
            None,
        )
        # What the engine calls by a name stays the engine's.
        assert document["id"] == made["id"]
    assert made["status"] == "queued"
    assert read(desk(), made["id"])["why"] == SAID


def test_a_document_that_cannot_be_made_leaves_the_engines_own(desk, caplog):
    job_id = desk.app.submit("broken", owner="a").id

    document = read(desk("submitter", "a"), job_id)

    assert (document["state"], "why" in document) == ("queued", False)
    assert "cannot describe its job" in caplog.text


def test_what_operators_wrote_about_a_dead_letter_is_theirs(desk):
    (job_id,) = desk.dead(1, owner="a")
    desk.app.dead.triage(job_id, cause="transient", by="grace", note=SAID)
    desk.app.dead.remediate(job_id, evidence=SAID, by="grace")

    theirs = desk("operator", "a").get(f"/api/dead-letters/{job_id}").json()
    document = desk("reader", "a").get(f"/api/dead-letters/{job_id}").json()

    assert theirs["evidence"] == SAID
    assert len(theirs["actions"]) == 2
    assert (document["evidence"], document["note"], document["actions"]) == (None, None, [])
    assert (document["error_code"], document["error_message"]) == ("GATEWAY_DOWN", NO_MORE_TO_SAY)
    assert (document["message"], document["last_stack"], document["exception_type"]) == (
        NO_MORE_TO_SAY,
        "",
        "",
    )
    assert document["record"]["lastError"] == NO_MORE_TO_SAY
    (group,) = desk("reader", "a").get("/api/dead-letters/groups").json()["items"]
    assert (group["error_code"], group["message"]) == ("GATEWAY_DOWN", NO_MORE_TO_SAY)
