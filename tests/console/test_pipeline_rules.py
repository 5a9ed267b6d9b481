"""The console offers no retry where the pipeline of a job does not let it be retried."""

import pytest

from holdfast import GiveUp, Pipeline
from holdfast.testing import drain
from tests.console.site import Site, answered, form_of

GONE = "its file is gone; send it again"


@pytest.fixture
def gone() -> set[int]:
    return set()


@pytest.fixture
def job_id(site: Site, gone: set[int], request: pytest.FixtureRequest) -> str:
    """A failed job of a pipeline with these rules."""
    refusal = lambda payload: GONE if payload["n"] in gone else None  # noqa: E731
    made = Pipeline("parcels", retry_refusal=refusal, **getattr(request, "param", {}))

    @made.stage
    def send(job, n: int) -> None:
        raise GiveUp("NO_ADDRESS", "nobody lives there")

    site.app.add(made)
    made_id = site.app.submit("parcels", {"n": 1}, key="k").id
    drain(site.app)
    return made_id


WORKFLOW = pytest.mark.parametrize("job_id", [{"retry_by": "workflow"}], indirect=True)


@WORKFLOW
def test_a_job_for_the_workflow_has_no_button_and_the_page_says_why(site: Site, job_id: str):
    page = site.local().get(f"/jobs/{job_id}").text

    assert f"/jobs/{job_id}/retry" not in page
    assert "are sent back by operators as dead letters" in page
    assert f"/dead-letters/{job_id}" in page


@WORKFLOW
def test_whoever_asks_all_the_same_is_refused(site: Site, job_id: str):
    client = site.local()

    assert form_of(client, f"/jobs/{job_id}/retry").blocked
    answer = answered(client, f"/jobs/{job_id}/retry", reason="again")

    assert answer.status_code == 409
    assert "as dead letters" in answer.text
    assert site.app.job(job_id).state == "failed"


@WORKFLOW
def test_many_of_such_a_pipeline_are_not_offered_either(site: Site, job_id: str):
    client = site.local()

    listed = client.get("/jobs?pipeline=parcels").text
    assert "/jobs/bulk/retry" not in listed
    assert "as dead letters" in listed
    assert "/jobs/bulk/retry" in client.get("/jobs").text
    assert form_of(client, "/jobs/bulk/retry?pipeline=parcels").blocked
    assert answered(client, "/jobs/bulk/retry?pipeline=parcels", reason="x").status_code == 409
    answer = answered(client, "/jobs/bulk/retry", reason="again")

    assert answer.status_code == 409
    assert "no job was retried" in answer.text
    assert site.app.job(job_id).state == "failed"


def test_a_job_that_its_pipeline_refuses_has_no_button_but_the_reason(
    site: Site, job_id: str, gone: set[int]
):
    client = site.local()
    assert f"/jobs/{job_id}/retry" in client.get(f"/jobs/{job_id}").text
    gone.add(1)

    page = client.get(f"/jobs/{job_id}").text

    assert f"/jobs/{job_id}/retry" not in page
    assert GONE in page


def test_of_many_the_rest_is_sent_back_and_the_page_says_so(
    site: Site, job_id: str, gone: set[int]
):
    gone.add(1)
    other = site.app.submit("parcels", {"n": 2}).id
    drain(site.app)
    client = site.local()

    answer = answered(client, "/jobs/bulk/retry?pipeline=parcels", reason="again")

    said = client.get(answer.headers["location"]).text
    assert "1 job sent back. Others were left alone" in said
    assert (site.app.job(job_id).state, site.app.job(other).state) == ("failed", "queued")
