"""Keys and versions decide after the data of the reviews is gone, over HTTP as everywhere."""

import pytest

from criticizer.system import build
from holdfast import Holdfast
from holdfast.retention import Retention

ADA = "ada@example.org"


@pytest.fixture
def forgotten(site_with):
    """A site, and a review of version 3 whose data was removed."""
    site = site_with()
    review = site.reviewed(review_version=3, recipients=[ADA], idempotency_key="first")
    parts = build(site.variables)
    with Holdfast(
        site.variables["DATABASE_URL"],
        pipelines=parts.pipelines,
        providers=parts.providers,
        retention=Retention(complete=0),
    ) as app:
        assert app.purge()["jobs"] >= 1
    assert site.http.get(f"/api/jobs/{review['job_id']}").status_code == 404
    return site, review


def test_the_same_key_returns_the_original_record_and_makes_no_second_job(forgotten):
    site, review = forgotten
    paid = len(site.llm.calls)

    again = site.ask(review_version=3, recipients=[ADA], idempotency_key="first")
    other = site.ask(changelist_id="cl-2", idempotency_key="first", rerun=True)

    for answer in (again, other):
        assert answer.status_code == 200
        known = answer.json()
        assert (known["job_id"], known["status"]) == (review["job_id"], "succeeded")
        assert (known["review_version"], known["removed_at"] is not None) == (3, True)
    assert again.json()["differs"] == []
    assert other.json()["differs"] == ["changelist_id", "review_version", "rerun"]
    assert site.http.get("/api/reviews").json()["items"] == []
    assert len(site.llm.calls) == paid
    assert site.mail.told() == {ADA: 1}


@pytest.mark.parametrize("rerun", [False, True])
def test_an_equal_version_is_its_success_and_a_lower_one_refused(forgotten, rerun):
    site, review = forgotten

    equal = site.ask(review_version=3, recipients=[ADA], rerun=rerun)
    lower = site.ask(review_version=2, recipients=[ADA], rerun=rerun)

    assert (equal.status_code, equal.json()["job_id"]) == (200, review["job_id"])
    assert (lower.status_code, lower.json()["code"]) == (409, "version_conflict")
    assert lower.json()["found"] == 3
    assert site.mail.told() == {ADA: 1}


def test_a_rerun_with_a_key_of_its_own_is_a_review(forgotten):
    site, _ = forgotten

    rerun = site.reviewed(review_version=4, recipients=[ADA], rerun=True)

    assert rerun["status"] == "succeeded"
    assert site.mail.told() == {ADA: 2}
