"""People without credentials, where they are let in."""

import pytest

from holdfast.api.auth.anonymous import COOKIE
from holdfast.classify import PublicCode
from holdfast.errors import UnknownJob
from tests.api.routes.operating.desk import Desk


@pytest.fixture
def desk(database_url):
    made = Desk(database_url, api={"walk_ins": True})
    yield made
    made.close()


@pytest.fixture
def walk_in(desk):
    """Somebody who has been here before, and the owner they are."""
    client = desk.visitor(None)
    client.get("/api/session")
    number = client.cookies[COOKIE].partition(".")[0]
    return client, f"walk-in-{number}"


def test_somebody_new_gets_a_cookie_that_scripts_and_other_sites_cannot_use(desk):
    client = desk.visitor(None)
    job_id = desk.app.submit("p", {"n": 1}, owner="a").id
    refused = client.get(f"/api/jobs/{job_id}")
    assert (refused.status_code, refused.json()["code"]) == (404, "job_not_found")

    cookie = client.cookies[COOKIE]
    again = client.get(f"/api/jobs/{job_id}")

    assert "set-cookie" not in again.headers
    assert client.cookies[COOKIE] == cookie
    said = refused.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in said.split(";")}


def test_they_see_retry_and_cancel_what_is_theirs(desk, walk_in):
    client, owner = walk_in
    (mine,) = desk.dead(1, owner=owner)

    assert client.get(f"/api/jobs/{mine}").json()["state"] == "failed"
    assert client.post(f"/api/jobs/{mine}/retry").json()["state"] == "queued"
    assert client.post(f"/api/jobs/{mine}/cancel").json()["state"] == "cancelled"
    assert desk.app.history(mine)[-1].meta["by"] == owner


def test_what_is_somebody_elses_is_unknown_to_them(desk, walk_in):
    client, _ = walk_in
    (theirs,) = desk.dead(1, owner="a")

    answers = [
        client.get(f"/api/jobs/{theirs}"),
        client.get(f"/api/jobs/{theirs}/events"),
        client.get(f"/api/jobs/{theirs}/attempts"),
        client.post(f"/api/jobs/{theirs}/retry"),
        client.post(f"/api/jobs/{theirs}/cancel"),
    ]

    assert {answer.json()["code"] for answer in answers} == {"job_not_found"}
    with pytest.raises(UnknownJob):
        desk.app.job(theirs, owner="walk-in-0")


@pytest.mark.parametrize("change", ["", ".", "x" * 600, "0" * 32 + ".x", "é" * 8])
def test_a_cookie_that_was_not_made_here_is_nobodys(desk, walk_in, change):
    client, owner = walk_in
    (mine,) = desk.dead(1, owner=owner)
    number, _, mac = client.cookies[COOKIE].partition(".")
    stranger = desk.visitor(None)

    for forged in (change, f"{number}.", f"{number}.{mac[:-1]}", f"{'0' * 32}.{mac}"):
        headers = [(b"cookie", f"{COOKIE}={forged}".encode())]
        assert stranger.get(f"/api/jobs/{mine}", headers=headers).status_code == 404


def test_another_site_cannot_act_for_them(desk, walk_in):
    client, owner = walk_in
    (mine,) = desk.dead(1, owner=owner)

    answer = client.post(f"/api/jobs/{mine}/retry", headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.json()["code"] == "csrf_refused"
    assert desk.app.job(mine).state == "failed"


def test_credentials_count_for_more_than_the_cookie(desk, walk_in):
    client, _ = walk_in
    (theirs,) = desk.dead(1, owner="a")
    token = desk.token("root-2")

    answer = client.get(f"/api/jobs/{theirs}", headers={"Authorization": f"Bearer {token}"})

    assert answer.json()["id"] == theirs


TOLD = PublicCode(message="It is not yours.", http_status=403, code="FORBIDDEN")


class TestWhereStrangersAreTold:
    @pytest.fixture
    def desk(self, database_url):
        made = Desk(database_url, api={"walk_ins": True, "not_yours": TOLD})
        yield made
        made.close()

    @pytest.mark.parametrize(
        "ask", ["GET ", "GET /events", "GET /attempts", "POST /retry", "POST /cancel"]
    )
    def test_what_is_anothers_and_what_is_not_there_is_answered_the_same(self, desk, walk_in, ask):
        client, _ = walk_in
        (theirs,) = desk.dead(1, owner="a")
        method, path = ask.split(" ")
        answers = [
            client.request(method, f"/api/jobs/{each}{path}")
            for each in (theirs, "018f0000-0000-7000-8000-000000000000", "nonsense")
        ]

        told = [(each.status_code, each.json()["code"], each.json()["detail"]) for each in answers]
        assert told == [(403, "FORBIDDEN", "It is not yours.")] * 3
        assert desk.app.job(theirs).state == "failed"

    def test_a_token_for_one_owner_is_told_so_too(self, desk):
        (theirs,) = desk.dead(1, owner="a")

        assert desk("submitter", "b").get(f"/api/jobs/{theirs}").json()["code"] == "FORBIDDEN"

    def test_who_sees_every_owners_jobs_is_told_that_there_is_none(self, desk):
        answer = desk().post("/api/jobs/018f0000-0000-7000-8000-000000000000/retry")

        assert (answer.status_code, answer.json()["code"]) == (404, "job_not_found")

    def test_what_is_theirs_is_retried_all_the_same(self, desk, walk_in):
        client, owner = walk_in
        (mine,) = desk.dead(1, owner=owner)

        assert client.post(f"/api/jobs/{mine}/retry").json()["state"] == "queued"


class TestOnThisMachineWithoutAnyToken:
    """Being here makes nobody an operator of what others have sent."""

    @pytest.fixture
    def desk(self, database_url):
        made = Desk(database_url, api={"walk_ins": True, "not_yours": TOLD}, locked=False)
        yield made
        made.close()

    @pytest.fixture
    def theirs(self, desk, walk_in):
        """A job that failed, of somebody known by a cookie."""
        (job_id,) = desk.dead(1, owner=walk_in[1])
        return job_id

    @pytest.mark.parametrize("known", [True, False])
    def test_another_browser_is_another_owner(self, desk, theirs, known):
        other = desk.visitor(None)
        if known:
            other.get("/api/session")

        answers = [
            other.get(f"/api/jobs/{theirs}"),
            other.get(f"/api/jobs/{theirs}/events"),
            other.get(f"/api/jobs/{theirs}/attempts"),
            other.post(f"/api/jobs/{theirs}/retry"),
            other.post(f"/api/jobs/{theirs}/cancel"),
        ]

        assert {(each.status_code, each.json()["code"]) for each in answers} == {(403, "FORBIDDEN")}
        assert desk.app.job(theirs).state == "failed"

    def test_whoever_sent_it_sees_it_and_retries_it(self, desk, walk_in, theirs):
        client, owner = walk_in

        assert client.get(f"/api/jobs/{theirs}").json()["owner"] == owner
        assert client.post(f"/api/jobs/{theirs}/retry").json()["state"] == "queued"
        assert desk.app.history(theirs)[-1].meta["by"] == owner

    def test_jobs_of_no_such_owner_are_still_the_operators(self, desk, theirs):
        (own,) = desk.dead(2, owner="")
        here = desk.visitor(None)

        assert here.get(f"/api/jobs/{own}").json()["id"] == own
        assert here.post(f"/api/jobs/{own}/retry").json()["state"] == "queued"
        assert desk.app.history(own)[-1].meta["by"] == "local"
        assert {each["id"] for each in here.get("/api/jobs").json()["items"]} >= {own, theirs}

    def test_what_is_for_operators_alone_stays_open_also_with_a_cookie(self, desk, walk_in):
        client, _ = walk_in

        assert client.get("/api/queues").status_code == 200
        assert client.get("/api/workers").status_code == 200


def test_the_console_is_not_for_somebody_without_credentials_where_they_are_needed(desk, walk_in):
    client, _ = walk_in

    assert client.get("/api/session").json()["console"] is False
