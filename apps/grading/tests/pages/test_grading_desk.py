"""What teachers and operators do on the page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from apps.grading.tests.pages.grading_stand_in import Refusal, letter, pending


def claimed(submission_id="sub-a", *, by="ada", minutes=9):
    until = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
    return pending(submission_id, "High", claimedBy=by, claimedUntil=until)


def test_the_queue_is_by_priority_and_an_answer_is_claimed_before_it_is_graded(api, look):
    api.reviews = [pending("sub-a", "Critical"), pending("sub-b", "Medium")]
    page = look("#review")
    expect(page.locator("#queue li")).to_contain_text(["Critical", "Medium"])
    page.locator("#queue a").first.click()
    expect(page.locator(".case")).to_contain_text("Many people thinks")
    expect(page.locator(".grade")).to_have_count(0)

    page.get_by_role("button", name="Claim").click()

    expect(page.locator(".grade")).to_be_visible()
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"Yours for 1[45]:\d\d"))


def test_the_graders_view_is_folded_and_so_is_what_would_give_it_away(api, look):
    api.reviews = [claimed()]
    page = look("#review=sub-a")
    expect(page.locator(".grader-view .criteria")).to_be_hidden()
    page.get_by_label("Overall score").fill("7")
    expect(page.locator(".merge")).to_contain_text("Open the grader’s view")
    assert "6.5" not in page.locator(".case").inner_text()

    page.get_by_text("Show the grader’s view").click()

    expect(page.locator(".merge")).to_contain_text("Grader 6.5 (B2), you 7.0 (B2): final 7.0 (B2)")


MERGED = {
    "6.0": "final 6.0 (B2); both count",
    "7.5": "final 7.5 (B2); yours alone counts",
    "3.5": "final 3.5 (below B1); yours alone counts",
}


def test_the_preview_merges_by_the_rule_of_the_server(api, look):
    api.reviews = [claimed()]
    page = look("#review=sub-a")
    page.get_by_text("Show the grader’s view").click()

    for given, final in MERGED.items():
        page.get_by_label("Overall score").fill(given)
        expect(page.locator(".merge")).to_contain_text(final)


def test_a_grade_is_sent_with_what_was_filled_in_and_the_case_is_closed(api, look):
    api.reviews = [claimed()]
    page = look("#review=sub-a")
    page.get_by_label("Overall score").fill("5.5")
    page.get_by_label("Grammar").fill("5")
    page.get_by_label("What to work on").fill("Tenses\n\n  Articles ")
    page.get_by_label("Comment to the learner").fill("Keep going")
    page.get_by_role("button", name="Save the grade").click()
    expect(page.locator("#case")).to_contain_text("Your grade is saved")

    assert api.graded == [
        {
            "overallScore": 5.5,
            "band": "B1",
            "criteriaScores": {"grammar": 5},
            "feedback": {"strengths": [], "weaknesses": ["Tenses", "Articles"], "suggestions": []},
            "reviewComment": "Keep going",
        }
    ]


def test_what_a_teacher_typed_stays_while_the_queue_moves_on(api, look):
    api.reviews = [claimed()]
    page = look("#review=sub-a")
    page.get_by_label("Overall score").fill("7.5")
    api.reviews.append(pending("sub-b", "Medium"))
    api.tell("all", "complete")
    expect(page.locator("#queue li")).to_have_count(2)

    expect(page.get_by_label("Overall score")).to_have_value("7.5")


def test_a_claim_of_another_is_shown_and_a_lost_race_is_explained(api, look):
    api.reviews = [claimed("sub-a", by="ben"), pending("sub-b", "Medium")]
    page = look("#review=sub-a")
    expect(page.get_by_role("timer")).to_contain_text("With ben for")
    expect(page.get_by_role("button", name="Claim")).to_have_count(0)
    page.locator("#queue a").nth(1).click()
    api.refusals["claim"] = Refusal(409, "CONFLICT", "ben has it until 12:30")
    page.get_by_role("button", name="Claim").click()

    expect(page.locator(".claim")).to_contain_text("Ben has it until 12:30.")


def test_operations_show_what_is_wrong_and_letters_are_retried_or_discarded(api, look):
    api.operations = {"outbox": {"pending": 3, "oldestSeconds": 90}, "broker": {"connected": False}}
    api.letters = [letter("dead-1"), letter("dead-2", submissionId=None, canRetry=False)]
    page = look("#operations")
    expect(page.locator(".tile.bad")).to_contain_text(["Outbox", "Broker", "Dead letters"])
    expect(page.locator("#breakers li")).to_contain_text(["llm", "stt"])
    expect(page.get_by_role("button", name="Retry")).to_have_count(1)
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("#dlq li")).to_have_count(1)
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.locator("#dlq-empty")).to_be_visible()

    assert [each for each in api.asked if "dead" in each] == ["retry dead-1", "discard dead-2"]


def test_a_learner_is_offered_to_sign_in_where_only_others_may_look(api, look):
    api.session = {"name": "ann", "role": "submitter", "owner": "ann"}
    refused = Refusal(403, "scope_missing", "this concerns the jobs of every owner")
    api.refusals |= {"pending": refused, "operations": refused}

    for view in ("review", "operations"):
        page = look(f"#{view}")
        expect(page.locator("#sign-in")).to_be_visible()
        expect(page.locator(f"#{view}")).to_be_hidden()
        expect(page.get_by_role("link", name="Sign in")).to_have_attribute(
            "href", f"../login?next=%2Fgrading%2F%23{view}"
        )
