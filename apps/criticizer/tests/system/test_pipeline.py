"""A review fetches, asks and tells, each stage with a budget of its own."""

from apps.criticizer.tests.scripted import CRITIQUE
from criticizer.reviewers.errors import MalformedAnswer, Refused
from criticizer.sources.errors import ChangeMissing, SourceFailed
from holdfast import JobState


class TestStages:
    def test_a_review_is_made_once_and_everyone_is_told_of_it(self, criticizer):
        done = criticizer.reviewed()

        assert done.state is JobState.COMPLETE
        assert criticizer.told() == ["ada@example.org", "bob@example.org"]
        (first, _) = criticizer.mail.sent()
        assert first["message"]["from"] == "Reviews <reviews@example.org>"
        assert first["message"]["subject"] == "Review of Add a loop (1 finding)"
        assert "rope.py:2: Never used." in first["message"]["text"]
        assert criticizer.app.results(done.id)["llm"]["critique"] == CRITIQUE.model_dump()

    def test_failures_of_one_stage_spend_nothing_of_anothers_budget(self, criticizer):
        criticizer.source.plays += [SourceFailed("down")] * 4
        criticizer.reviewer.plays += [TimeoutError()] * 4

        assert criticizer.reviewed().state is JobState.COMPLETE
        assert (len(criticizer.source.calls), len(criticizer.reviewer.repairs)) == (5, 5)

    def test_a_stage_whose_budget_is_spent_ends_as_a_dead_letter_of_that_stage(self, criticizer):
        criticizer.reviewer.plays += [TimeoutError()] * 5

        failed = criticizer.reviewed()

        assert (failed.state, failed.job.stage) == (JobState.FAILED, "llm")
        (letter,) = criticizer.app.dead.find()
        assert letter.to_document()["stage"] == "llm"
        assert criticizer.told() == []

    def test_a_change_that_is_not_there_is_asked_for_once(self, criticizer):
        criticizer.source.plays += [ChangeMissing("cl-17")]

        failed = criticizer.reviewed()

        assert failed.state is JobState.FAILED
        assert failed.error["error_class"] == "NOT_FOUND"
        assert len(criticizer.source.calls) == 1

    def test_retrying_stops_when_a_failure_turns_out_to_be_final(self, criticizer):
        criticizer.source.plays += [SourceFailed("down"), ChangeMissing("cl-17")]

        assert criticizer.reviewed().error["error_class"] == "NOT_FOUND"
        assert len(criticizer.source.calls) == 2

    def test_an_answer_in_the_wrong_form_is_asked_for_again_with_a_word_about_the_form(
        self, criticizer
    ):
        criticizer.reviewer.plays += [MalformedAnswer("no JSON")]

        assert criticizer.reviewed().state is JobState.COMPLETE
        assert criticizer.reviewer.repairs == [False, True]

    def test_every_attempt_at_the_model_has_the_token_of_the_review(self, criticizer):
        criticizer.reviewer.plays += [MalformedAnswer("no JSON"), MalformedAnswer("no JSON")]

        assert criticizer.reviewed().state is JobState.COMPLETE
        assert len(criticizer.reviewer.tokens) == 3
        assert len(set(criticizer.reviewer.tokens)) == 1

    def test_a_bug_is_not_tried_again(self, criticizer):
        criticizer.source.plays += [KeyError("a bug of ours")]

        failed = criticizer.reviewed()

        assert (failed.state, failed.error["error_class"]) == (JobState.FAILED, "BUG")
        assert len(criticizer.source.calls) == 1

    def test_a_refusal_is_final(self, criticizer):
        criticizer.reviewer.plays += [Refused("policy")]

        failed = criticizer.reviewed()

        assert failed.error["error_class"] == "CONTENT_POLICY"
        assert criticizer.reviewer.repairs == [False]


class TestReplay:
    def test_a_replay_begins_at_the_stage_that_failed(self, criticizer):
        criticizer.reviewer.plays += [Refused("policy")]
        failed = criticizer.reviewed()

        dead = criticizer.app.dead
        dead.triage(failed.id, cause="data", by="ada")
        dead.remediate(failed.id, evidence="the policy allows it now", by="ada")
        dead.replay(failed.id, by="ada")
        criticizer.run()

        assert criticizer.app.job(failed.id).state is JobState.COMPLETE
        assert len(criticizer.source.calls) == 1
        assert len(criticizer.mail.sent()) == 2

    def test_a_review_that_is_sent_back_does_not_tell_anyone_twice(self, criticizer):
        done = criticizer.reviewed()
        again = criticizer.app.submit(
            "review", done.payload, key="another", version=done.job.version
        )
        criticizer.run()

        assert again.get().state is JobState.COMPLETE
        assert len(criticizer.mail.sent()) == 2
