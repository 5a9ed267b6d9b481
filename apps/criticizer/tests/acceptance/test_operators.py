"""What an operator gets of a review that failed, and what they may do in which order."""

from apps.criticizer.tests.llm_server import Answer

ADA = "planted.recipient@example.org"
SECRET = "sk-ant-api03-Planted9Planted9Planted9Planted9"
DIFF = """\
--- a/keys.py
+++ b/keys.py
@@ -1 +1,2 @@
 a = 1
+marker_of_the_diff = "Planted-Diff-Line"
"""
DENIED = Answer(
    status=401,
    code="invalid_api_key",
    error_message=f"Incorrect API key provided: {SECRET}; ask {ADA}",
)


class TestTheWorkflow:
    def test_a_replay_takes_evidence_and_starts_at_the_stage_that_failed(self, site_with):
        site = site_with()
        site.llm.say(Answer(text=None, refusal="No."))
        failed = site.reviewed(recipients=[ADA])
        fetched = len(site.changes.calls)

        early = site.act(failed, "replay")
        assert (early.status_code, early.json()["code"]) == (409, "step_missing")
        assert site.act(failed, "triage", cause="data").status_code == 200
        untried = site.act(failed, "replay")
        assert (untried.status_code, untried.json()["code"]) == (409, "step_missing")
        assert site.act(failed, "remediate", evidence="").status_code == 422
        assert site.act(failed, "remediate", evidence="INC-7").status_code == 200
        assert site.act(failed, "replay").status_code == 200

        done = site.ended()
        assert done["status"] == "succeeded"
        assert len(site.changes.calls) == fetched
        assert site.mail.told() == {ADA: 1}
        assert site.act(failed, "resolve", note="The model was changed.").status_code == 200

    def test_a_replay_from_the_start_is_made_only_when_it_is_asked_for(self, site_with):
        site = site_with()
        site.llm.say(Answer(text=None, refusal="No."))
        failed = site.reviewed(recipients=[ADA])
        fetched = len(site.changes.calls)

        assert site.replay(failed, from_start=True).status_code == 200

        assert site.ended()["status"] == "succeeded"
        assert len(site.changes.calls) == fetched + 1
        assert site.mail.told() == {ADA: 1}

    def test_a_second_failure_of_the_same_class_escalates(self, site_with):
        site = site_with()
        site.llm.say(Answer(text=None, refusal="No."), Answer(text=None, refusal="Still no."))
        failed = site.reviewed()
        assert site.letter(failed)["escalated"] is False

        assert site.replay(failed).status_code == 200

        again = site.ended()
        assert again["status"] == "dead_lettered"
        letter = site.letter(failed)
        assert (letter["escalated"], letter["deaths"]) == (True, 2)


class TestTheLetter:
    def test_it_has_what_triage_needs(self, site_with):
        site = site_with()
        site.llm.say(DENIED)

        letter = site.letter(site.reviewed())

        assert letter["error_class"] == "AUTH_DENIED"
        assert letter["stage"] == "llm"
        assert letter["last_stack"]
        assert letter["first_failure_at"] <= letter["last_failure_at"]
        context = letter["sanitized_context"]
        assert (context["stage"], context["attempts"], context["http_status"]) == ("llm", 1, 401)
        assert (context["job_id"], context["key"]) == (letter["id"], "cl-1")
        assert set(context["payload"]) == {"sha256", "bytes"}

    def test_planted_secrets_addresses_and_the_diff_are_nowhere(self, site_with):
        site = site_with()
        site.changes.changes["cl-secret"] = DIFF
        site.llm.say(DENIED)
        failed = site.reviewed(changelist_id="cl-secret", recipients=[ADA])
        job = failed["job_id"]
        paths = [
            f"/api/dead-letters/{job}",
            "/api/dead-letters",
            "/api/dead-letters/groups",
            f"/api/jobs/{job}",
            f"/api/jobs/{job}/events",
            f"/api/jobs/{job}/attempts",
            "/api/reviews",
            "/api/reviews/cl-secret",
            "/api/deliveries",
            f"/jobs/{job}",
            f"/dead-letters/{job}",
            "/dead-letters",
            "/metrics",
        ]

        shown = {path: site.http.get(path) for path in paths}

        assert {path: each.status_code for path, each in shown.items()} == dict.fromkeys(paths, 200)
        for planted in (SECRET, ADA, "Planted-Diff-Line", site.variables["LLM_API_KEY"]):
            told = [path for path, each in shown.items() if planted in each.text]
            assert told == [], planted
            assert planted not in site.said
