"""Reviews over HTTP: asked for, found again, refused, and shown to those who may see them."""

import pytest

from apps.criticizer.tests.scripted import CRITIQUE, DIFF, Heard
from criticizer.http.documents import documents_of
from criticizer.reviews import Reviews
from criticizer.sources.errors import ChangeMissing, SourceFailed

BODY = {
    "changelist_id": "owner/repo#17",
    "review_version": 3,
    "recipients": ["ada@example.org", "bob@example.org"],
    "idempotency_key": "k-1",
}


def show(client, changelist_id="owner/repo#17"):
    return client.get("/api/reviews/" + changelist_id.replace("#", "%23"))


def diff(client, changelist_id="owner/repo#17"):
    return client.get("/api/review-diffs", params={"changelist_id": changelist_id})


class TestAsking:
    def test_a_new_review_is_201_and_the_same_request_again_200_with_the_same_job(self, visit):
        first = visit().post("/api/reviews", json=BODY)
        again = visit().post("/api/reviews", json=BODY)

        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json()["job_id"] == again.json()["job_id"]
        assert (first.json()["replayed"], again.json()["replayed"]) == (False, True)
        assert again.headers["idempotency-replayed"] == "true"
        assert first.headers["location"] == f"/api/jobs/{first.json()['job_id']}"
        assert first.json()["status"] == "in_progress"

    def test_a_body_that_differs_under_a_known_key_is_pointed_out(self, visit):
        first = visit().post("/api/reviews", json=BODY).json()

        other = visit().post("/api/reviews", json={**BODY, "review_version": 9})

        assert other.status_code == 200
        assert other.json()["job_id"] == first["job_id"]
        assert other.json()["differs"] == ["review_version"]
        assert other.json()["review_version"] == 3

    def test_a_version_that_succeeded_is_answered_with_what_came_of_it(self, visit, criticizer):
        visit().post("/api/reviews", json=BODY)
        criticizer.run()

        prior = visit().post("/api/reviews", json={**BODY, "idempotency_key": "k-2"})

        assert prior.status_code == 200
        assert prior.json()["status"] == "succeeded"
        assert prior.json()["critique"] == CRITIQUE.model_dump()

    def test_a_rerun_is_201_above_what_is_there_200_at_it_and_409_below(self, visit, criticizer):
        visit().post("/api/reviews", json=BODY)
        criticizer.run()

        def rerun(version, key):
            body = {**BODY, "review_version": version, "idempotency_key": key, "rerun": True}
            return visit().post("/api/reviews", json=body)

        prior = rerun(3, "k-3")
        assert (prior.status_code, prior.json()["status"]) == (200, "succeeded")
        assert rerun(4, "k-4").status_code == 201
        assert rerun(5, "k-4").json()["review_version"] == 4
        refused = rerun(2, "k-2")
        assert refused.status_code == 409
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["code"] == "version_conflict"
        assert (refused.json()["requested"], refused.json()["found"]) == (2, 4)

    def test_what_is_known_of_a_review_is_answered_when_its_data_is_gone(self, visit, criticizer):
        made = visit().post("/api/reviews", json=BODY).json()
        criticizer.run()
        criticizer.clock.advance(400 * 86_400)
        criticizer.app.purge()

        again = visit().post("/api/reviews", json=BODY)
        shown = show(visit()).json()["versions"]

        assert (again.status_code, "location" in again.headers) == (200, False)
        known = again.json()
        assert (known["job_id"], known["status"], known["review_version"]) == (
            made["job_id"],
            "succeeded",
            3,
        )
        assert (known["replayed"], known["critique"], known["deliveries"]) == (True, None, [])
        assert known["removed_at"] is not None
        assert [each["job_id"] for each in shown] == [made["job_id"]]
        assert visit().get("/api/review-diffs?changelist_id=owner/repo%2317").status_code == 404

    @pytest.mark.parametrize(
        ("changed", "pointer"),
        [
            ({"recipients": ["not an address"]}, "/recipients/0"),
            ({"recipients": ["a@b\r\nBcc: eve@example.org"]}, "/recipients/0"),
            ({"recipients": ["a@example.org"] * 1001}, "/recipients"),
            ({"changelist_id": ""}, "/changelist_id"),
            ({"changelist_id": "x" * 256}, "/changelist_id"),
            ({"changelist_id": "a\x00b"}, "/changelist_id"),
            ({"review_version": 0}, "/review_version"),
            ({"review_version": "3"}, "/review_version"),
            ({"review_version": True}, "/review_version"),
            ({"idempotency_key": "k" * 256}, "/idempotency_key"),
            ({"rerun": "yes"}, "/rerun"),
            ({"surprise": 1}, "/surprise"),
        ],
    )
    def test_what_does_not_fit_is_refused_with_its_place_and_stores_nothing(
        self, visit, criticizer, changed, pointer
    ):
        refused = visit().post("/api/reviews", json={**BODY, **changed})

        assert refused.status_code == 422
        assert any(each["pointer"].endswith(pointer) for each in refused.json()["errors"])
        assert criticizer.app.jobs() == []

    def test_a_name_is_answered_with_the_commits_and_the_repository(self, visit, criticizer):
        old, new = "a" * 40, "b" * 40
        criticizer.source.names["HEAD~1..HEAD"] = f"{old}..{new}"

        made = visit().post("/api/reviews", json={**BODY, "changelist_id": "HEAD~1..HEAD"}).json()
        criticizer.run()

        assert (made["changelist_id"], made["named"]) == (f"{old}..{new}", "HEAD~1..HEAD")
        assert (made["repository"], made["commits"]) == ("team/rope", [old, new])
        (mail, _) = [line["message"] for line in criticizer.mail.sent()]
        for part in ("text", "html"):
            assert "Change HEAD~1..HEAD, version 3" in mail[part]
            assert "Repository team/rope" in mail[part]
            assert f"Commits {old} to {new}" in mail[part]

    def test_a_change_that_is_not_there_is_422_with_its_place(self, visit, criticizer):
        criticizer.source.unpinned.append(ChangeMissing("the repository has no HAED"))

        refused = visit().post("/api/reviews", json={**BODY, "changelist_id": "HAED"})

        assert (refused.status_code, refused.json()["code"]) == (422, "change_refused")
        assert refused.json()["errors"] == [
            {"pointer": "/changelist_id", "message": "the repository has no HAED"}
        ]
        assert visit().post("/api/reviews", json=BODY).status_code == 201

    def test_a_source_that_is_away_is_503_for_a_name_that_moves(self, visit, criticizer):
        criticizer.source.names["HEAD"] = "a" * 40
        criticizer.source.unpinned.append(SourceFailed("no"))

        away = visit().post("/api/reviews", json={**BODY, "changelist_id": "HEAD"})

        assert (away.status_code, away.json()["code"]) == (503, "source_unavailable")
        assert "retry-after" in away.headers

    @pytest.mark.parametrize("nobody", [{"recipients": []}, {}])
    def test_a_review_may_be_made_without_telling_anybody(self, visit, criticizer, nobody):
        asked = {name: value for name, value in BODY.items() if name != "recipients"} | nobody

        made = visit().post("/api/reviews", json=asked)
        criticizer.run()

        assert made.status_code == 201
        review = show(visit()).json()["versions"][0]
        assert (review["status"], review["recipients"]) == ("succeeded", 0)
        assert criticizer.mail.sent() == []

    def test_a_recipient_who_is_named_twice_is_told_once(self, visit, criticizer):
        visit().post("/api/reviews", json={**BODY, "recipients": ["ada@example.org"] * 2})
        criticizer.run()

        (shown,) = show(visit()).json()["versions"]
        assert criticizer.told() == ["ada@example.org"]
        assert len(shown["deliveries"]) == 1


class TestShowing:
    def test_every_version_is_shown_with_its_critique_and_a_row_per_recipient(
        self, visit, criticizer
    ):
        visit().post("/api/reviews", json=BODY)
        criticizer.run()
        later = {**BODY, "review_version": 4, "idempotency_key": "k-4", "rerun": True}
        visit().post("/api/reviews", json=later)

        shown = show(visit()).json()

        assert [each["review_version"] for each in shown["versions"]] == [4, 3]
        newest, first = shown["versions"]
        assert (newest["status"], newest["critique"], newest["deliveries"]) == (
            "in_progress",
            None,
            [],
        )
        assert first["status"] == "succeeded"
        assert first["title"] == "Add a loop"
        assert first["critique"] == CRITIQUE.model_dump()
        assert [each["recipient"] for each in first["deliveries"]] == [
            "a***@example.org",
            "b***@example.org",
        ]
        assert {each["status"] for each in first["deliveries"]} == {"sent"}
        assert all(each["notification_id"] and each["notified_at"] for each in first["deliveries"])

    def test_one_that_is_tried_again_and_one_that_failed_are_told_apart(self, visit, criticizer):
        criticizer.source.plays += [SourceFailed("down"), ChangeMissing("owner/repo#17")]
        visit().post("/api/reviews", json=BODY)
        criticizer.run()
        failed = show(visit()).json()["versions"][0]

        assert (failed["status"], failed["stage"]) == ("dead_lettered", "fetch")
        assert failed["error"]["error_class"] == "NOT_FOUND"

    def test_a_mark_that_is_taken_back_takes_the_success_with_it(self, visit, criticizer):
        made = visit().post("/api/reviews", json=BODY).json()
        criticizer.run()
        criticizer.forget_mail()
        criticizer.clock.advance(3600)
        assert len(criticizer.app.deliveries.reconcile(rate=1000).sent_again) == 2
        back = show(visit()).json()["versions"][0]
        criticizer.clock.advance(1)
        criticizer.run()

        assert back["status"] == "retryable_failed"
        assert {each["status"] for each in back["deliveries"]} == {"pending"}
        assert {each["error_class"] for each in back["deliveries"]} == {"EVIDENCE_MISSING"}
        assert show(visit()).json()["versions"][0]["status"] == "succeeded"
        events = visit().get(f"/api/jobs/{made['job_id']}/events").json()["items"]
        assert [each["event"] for each in events][-4:] == [
            "delivery_taken_back",
            "delivery_taken_back",
            "delivery_sent_again",
            "delivery_sent_again",
        ]
        assert criticizer.told() == ["ada@example.org", "bob@example.org"]

    def test_the_diff_is_text_and_there_once_it_was_fetched(self, visit, criticizer):
        visit().post("/api/reviews", json=BODY)
        query = {"changelist_id": "owner/repo#17", "version": 3}
        early = visit().get("/api/review-diffs", params=query)
        criticizer.run()
        found = visit().get("/api/review-diffs", params=query)

        assert (early.status_code, early.json()["code"]) == (404, "review_not_found")
        assert (found.status_code, found.text) == (200, DIFF)
        assert found.headers["content-type"] == "text/plain; charset=utf-8"
        assert found.headers["x-content-type-options"] == "nosniff"

    def test_a_change_that_nobody_asked_about_is_404(self, visit):
        assert show(visit(), "cl-0").json()["code"] == "review_not_found"

    def test_reviews_are_listed_newest_first_page_by_page(self, visit):
        for number in range(5):
            body = {**BODY, "changelist_id": f"cl-{number}", "idempotency_key": f"k-{number}"}
            visit().post("/api/reviews", json=body)

        first = visit().get("/api/reviews", params={"limit": 3}).json()
        rest = visit().get("/api/reviews", params={"limit": 3, "before": first["next"]}).json()

        named = [each["changelist_id"] for page in (first, rest) for each in page["items"]]
        assert named == [f"cl-{number}" for number in (4, 3, 2, 1, 0)]
        assert rest["next"] is None

    def test_a_page_of_reviews_takes_one_look_each_at_jobs_results_and_deliveries(self, criticizer):
        for number in range(4):
            criticizer.reviewed(f"k-{number}", changelist_id=f"cl-{number}")
        asked = []
        reviews = Reviews(Heard(criticizer.app, asked), source=criticizer.source, pin_timeout_s=5)

        shown = criticizer.app.disclosure(end_user=False)
        page = documents_of(reviews.latest(owner=None, before=None, limit=20), reviews, shown)

        assert [len(each.deliveries) for each in page] == [2, 2, 2, 2]
        assert asked == ["jobs", "results_of", "of_keys"]


class TestWhoMaySee:
    def test_without_credentials_nothing_is_told(self, visit):
        stranger = visit(None)

        assert stranger.post("/api/reviews", json=BODY).status_code == 401
        assert stranger.get("/api/reviews").status_code == 401
        assert show(stranger).status_code == 401

    def test_an_owner_reads_of_a_failure_its_class_and_nothing_behind_it(self, visit, criticizer):
        criticizer.source.plays.extend([ChangeMissing("no /srv/repo on 10.9.8.7")] * 5)
        _, secret = criticizer.app.tokens.create("ada", role="submitter", owner="ada", by="root")
        ada = visit(secret)
        ada.post("/api/reviews", json=BODY)
        criticizer.run()

        mine, known = show(ada), show(visit())

        assert "/srv/repo" not in mine.text
        error = mine.json()["versions"][0]["error"]
        assert error["error_class"] == known.json()["versions"][0]["error"]["error_class"]
        assert "/srv/repo" in known.json()["versions"][0]["error"]["message"]

    def test_an_owner_sees_their_own_reviews_alone(self, visit, criticizer):
        def token(owner):
            _, secret = criticizer.app.tokens.create(
                owner, role="submitter", owner=owner, by="root"
            )
            return secret

        ada, bob = visit(token("ada")), visit(token("bob"))
        mine = ada.post("/api/reviews", json=BODY)
        theirs = bob.post("/api/reviews", json=BODY)

        assert (mine.status_code, theirs.status_code) == (201, 201)
        assert mine.json()["job_id"] != theirs.json()["job_id"]
        assert [each["job_id"] for each in ada.get("/api/reviews").json()["items"]] == [
            mine.json()["job_id"]
        ]
        assert [each["job_id"] for each in show(bob).json()["versions"]] == [
            theirs.json()["job_id"]
        ]

    def test_the_versions_and_the_diff_of_anothers_review_are_not_there(self, visit, criticizer):
        def token(owner):
            _, secret = criticizer.app.tokens.create(
                owner, role="submitter", owner=owner, by="root"
            )
            return secret

        ada, bob = visit(token("ada")), visit(token("bob"))
        ada.post("/api/reviews", json=BODY)
        criticizer.run()

        assert [show(who).status_code for who in (ada, bob)] == [200, 404]
        assert [diff(who).status_code for who in (ada, bob)] == [200, 404]
        bob.post("/api/reviews", json={**BODY, "review_version": 7, "idempotency_key": "b"})
        shown = [show(who).json()["versions"] for who in (ada, bob)]
        assert [[each["review_version"] for each in versions] for versions in shown] == [[3], [7]]
        assert diff(bob).status_code == 404

    def test_a_reader_asks_for_nothing(self, visit, criticizer):
        _, reader = criticizer.app.tokens.create("rita", role="reader", by="root")

        assert visit(reader).post("/api/reviews", json=BODY).status_code == 403

    def test_no_address_of_a_recipient_is_shown_anywhere(self, visit, criticizer):
        made = visit().post("/api/reviews", json=BODY).json()
        criticizer.run()
        paths = [
            "/api/reviews",
            f"/api/jobs/{made['job_id']}",
            f"/api/jobs/{made['job_id']}/events",
            f"/api/jobs/{made['job_id']}/attempts",
            "/api/jobs",
            "/api/deliveries",
        ]

        shown = [visit().get(path).text for path in paths] + [show(visit()).text]

        assert not any("ada@example.org" in text or "bob@example.org" in text for text in shown)


class TestWhatServesEveryPipelineAlike:
    def test_makes_no_review(self, visit, criticizer):
        for pipeline in ("review", "review-request"):
            answer = visit().post("/api/jobs", json={"pipeline": pipeline, "payload": BODY})
            assert (answer.status_code, answer.json()["code"]) == (403, "pipeline_closed")
            assert "POST /api/reviews" in answer.json()["detail"]
        assert criticizer.app.jobs() == []

    def test_sends_no_review_back_whoever_asks(self, visit, criticizer):
        _, token = criticizer.app.tokens.create("ada", role="submitter", owner="ada", by="root")
        criticizer.source.plays.append(ChangeMissing("there is no such change"))
        job_id = visit(token).post("/api/reviews", json=BODY).json()["job_id"]
        criticizer.run()
        asked = {"filter": {"pipeline": "review"}, "reason": "again"}

        answers = [
            visit(token).post(f"/api/jobs/{job_id}/retry"),
            visit().post(f"/api/jobs/{job_id}/retry"),
            visit().post("/api/jobs/retry", json=asked),
        ]

        told = [(each.status_code, each.json()["code"]) for each in answers]
        assert told == [(409, "retry_not_allowed")] * 3
        assert criticizer.app.job(job_id).state == "failed"
