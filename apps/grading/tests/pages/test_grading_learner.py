"""What learners do on the page: write, record, hand in, follow, read the result."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from apps.grading.tests.pages.grading_stand_in import ESSAY, Refusal, recording, result

SPOKEN = {"skill": "speaking", "questionId": "s1-travel"}


def answer(page):
    return page.get_by_role("textbox", name="Your answer")


def speaking(page):
    page.locator(".segments").get_by_text("Speaking").click()


def record(page):
    """Speak into the browser's made-up microphone for a good second."""
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    expect(page.locator("#clock")).to_have_text("0:02")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#take")).to_be_visible()


def test_words_are_counted_against_the_minimum_while_one_writes(api, look):
    page = look()
    answer(page).fill("One two — three.\nfour")
    expect(page.locator("#count-line")).to_have_text("4 of 250 words · 246 to go")

    page.get_by_label("Prompt").select_option("w1-hotel")
    expect(page.locator("#count-line")).to_have_text("0 of 120 words · 120 to go")
    answer(page).fill("word " * 120)

    expect(page.locator("#count-line")).to_have_text("120 of 120 words · enough")


def test_a_draft_is_there_again_after_the_page_was_closed(api, look):
    page = look()
    answer(page).fill("half an essay")
    page.reload()
    expect(answer(page)).to_have_value("half an essay")

    page.get_by_label("Prompt").select_option("w1-hotel")

    expect(answer(page)).to_have_value("")


def test_an_essay_is_handed_in_once_and_its_draft_is_gone(api, look):
    page = look()
    api.refusals["submit"] = Refusal(503, "store_unavailable", "the database cannot be reached")
    answer(page).fill(ESSAY)
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#said")).to_have_text("The database cannot be reached.")
    expect(answer(page)).to_have_value(ESSAY)
    api.refusals.clear()
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#said")).to_contain_text("Handed in")

    expect(page.locator("#rows li")).to_have_count(1)
    expect(answer(page)).to_have_value("")
    first, second = api.sent
    assert (
        first
        == second
        == {
            "skill": "writing",
            "questionId": "w2-tourism",
            "answer": {"text": ESSAY},
        }
    )
    assert api.keys[0] == api.keys[1]
    page.reload()
    expect(answer(page)).to_have_value("")


def test_what_is_wrong_with_an_answer_is_said_beside_it(api, look):
    page = look()
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#wrong-text")).to_have_text("Write your answer first.")
    expect(answer(page)).to_be_focused()
    answer(page).fill("x" * 20_001)
    expect(page.locator("#wrong-text")).to_contain_text("1 character too many")
    answer(page).fill("some text")
    flaw = {"pointer": "/answer/text", "message": "must be a text without NUL"}
    api.refusals["submit"] = Refusal(400, "VALIDATION_ERROR", "correct it", [flaw])
    page.get_by_role("button", name="Hand in").click()

    expect(page.locator("#wrong-text")).to_have_text("Must be a text without NUL.")
    assert len(api.sent) == 1


def test_a_recording_is_made_heard_sent_and_handed_in(api, look):
    page = look()
    speaking(page)
    record(page)
    page.locator("#playback").evaluate("async (player) => { await player.play(); player.pause(); }")
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#said")).to_contain_text("Handed in")

    [(name, content)] = api.uploads
    assert name == "recording.webm"
    assert content.startswith(b"\x1aE\xdf\xa3")
    [sent] = api.sent
    assert sent == {
        **SPOKEN,
        "answer": {"audioUrl": f"{api.address}/api/audio/rec-1", "durationSeconds": 2.5},
    }
    expect(page.locator("#take")).to_be_hidden()


def test_the_level_moves_and_the_recording_stops_at_the_limit(api, look):
    api.max_seconds = 2.0
    page = look()
    speaking(page)
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.locator("#level")).to_have_attribute("data-loudest", re.compile("0[.][1-9]|1"))
    painted = page.locator("#level").evaluate("each => each.getContext('2d').fillStyle")
    assert painted != "#000000", "a colour that a canvas does not know leaves it black"

    expect(page.locator("#recorder-line")).to_contain_text("as long as a recording may be")
    expect(page.locator("#take")).to_be_visible()


def test_a_microphone_that_is_not_allowed_is_explained(api, look):
    page = look()
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = async () => {"
        " throw new DOMException('no', 'NotAllowedError'); }; }"
    )
    speaking(page)
    page.get_by_role("button", name="Record", exact=True).click()

    expect(page.locator("#recorder-line")).to_contain_text("not allowed here")
    expect(page.get_by_role("button", name="Record", exact=True)).to_be_enabled()


def test_a_chosen_file_is_sent_with_its_progress_and_refused_in_plain_words(api, look):
    page = look()
    speaking(page)
    page.locator("#file").set_input_files(
        {"name": "talk.wav", "mimeType": "audio/wav", "buffer": recording()}
    )
    api.reading.clear()
    page.get_by_role("button", name="Hand in").click()
    expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    flaw = {"pointer": "/file", "message": "the file is not a recording"}
    api.refusals["upload"] = Refusal(400, "NOT_AUDIO", "the file is not a recording", [flaw])
    api.reading.set()
    expect(page.locator("#wrong-audio")).to_have_text("The file is not a recording.")
    page.locator("#file").set_input_files(
        {"name": "long.wav", "mimeType": "audio/wav", "buffer": b"x" * 1_000_001}
    )

    expect(page.locator("#wrong-audio")).to_contain_text("are the limit")
    assert api.sent == []


def test_a_recording_that_was_sent_is_not_sent_again_when_handing_in_failed(api, look):
    page = look()
    speaking(page)
    page.locator("#file").set_input_files(
        {"name": "talk.wav", "mimeType": "audio/wav", "buffer": recording()}
    )
    api.refusals["submit"] = Refusal(429, "RATE_LIMITED", "try again in 20 s")
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#said")).to_have_text("Try again in 20 s.")
    api.refusals.clear()
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#said")).to_contain_text("Handed in")

    assert len(api.uploads) == 1
    assert api.keys[0] == api.keys[1]


def test_rows_follow_their_submission_until_its_result(api, look):
    made = api.add("PENDING")
    page = look()
    row = page.locator("#rows li")
    expect(row).to_contain_text("Waiting")
    step = {"status": "PROCESSING", "step": "scoring", "progress": 0.9, "message": ""}
    api.tell(made["submissionId"], "grading.progress", {"submissionId": "sub-1", **step})
    expect(row).to_contain_text("Working out the score")
    made |= {"status": "COMPLETED", "step": None, "progress": None, "result": result()}
    api.tell(made["submissionId"], "grading.completed", {"submissionId": "sub-1"})

    expect(row).to_contain_text("6.5")
    expect(row).to_contain_text("Graded")


def test_a_result_shows_scores_reasons_and_the_marked_places(api, look):
    api.add("COMPLETED", result=result(caps=["too_short"]))
    page = look("#submission=sub-1")
    expect(page.locator(".overall")).to_contain_text("6.5")
    for text in ("Task fulfilment", "A clear position", "far below the minimum"):
        expect(page.get_by_text(text)).to_be_visible()
    marks = page.locator("mark")
    expect(marks).to_have_text(["thinks", "bring noise"])

    page.get_by_role("button", name="bring noise").click()

    expect(page.locator("#note-2")).to_be_focused()
    expect(page.locator("#note-2")).to_contain_text("The subject is singular.")


def test_places_are_marked_right_after_characters_that_browsers_count_twice(api, look):
    text = "\U0001f600\U0001f1fb\U0001f1f3 People thinks so."
    place = {"offset": text.index("thinks"), "length": len("thinks")}
    note = place | {"message": "The subject is plural.", "suggestion": "think"}
    api.add("COMPLETED", answer={"text": text}, result=result(annotations=[note]))
    page = look("#submission=sub-1")

    expect(page.locator("mark")).to_have_text(["thinks"])
    expect(page.locator("#answer .text")).to_contain_text("\U0001f600\U0001f1fb\U0001f1f3 People")


def test_a_teachers_score_that_counts_alone_stands_alone_with_what_the_teacher_writes(api, look):
    nothing = {"strengths": [], "weaknesses": [], "suggestions": []}
    alone = {"gradingMode": "human", "criteriaScores": {}, "feedback": nothing}
    api.add("COMPLETED", result=result(**alone, reviewComment="Well done. Read more."))
    page = look("#submission=sub-1")

    expect(page.locator(".result .comment")).to_contain_text("Your teacher writes")
    expect(page.locator(".result .comment p")).to_have_text("Well done. Read more.")
    expect(page.locator(".result .criteria")).to_have_count(0)


def test_a_teachers_result_is_not_said_to_be_unsure(api, look):
    api.add("COMPLETED", result=result(gradingMode="human", caps=["no_speech"]))
    page = look("#submission=sub-1")

    expect(page.locator(".result")).to_contain_text("Graded by a teacher")
    expect(page.locator(".result")).not_to_contain_text("confidence")
    expect(page.locator(".result .notice")).to_have_count(0)


def test_what_others_wrote_is_text_and_nothing_else(api, look):
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    feedback = {"strengths": [hostile], "weaknesses": [], "suggestions": []}
    found = result(feedback=feedback, annotations=[], transcript=hostile, grader=hostile)
    api.add("COMPLETED", answer={"text": hostile}, result=found)
    page = look("#submission=sub-1")

    expect(page.locator("#answer .text")).to_have_text(hostile)
    expect(page.locator(".feedback li")).to_have_text(hostile)
    assert page.locator("main img, main script").count() == 0


FAILURES = {
    "CONTENT_POLICY": ("declined", "Change what may have caused it"),
    "PROVIDER_AUTH": ("did not let us in", "ours to mend"),
    "TIMEOUT": ("It was not graded in time.", "Hand it in again"),
}


def test_a_failure_says_why_and_what_to_do(api, look):
    for reason in FAILURES:
        api.add("FAILED", failureReason=reason)
    page = look()
    for number, lines in enumerate(FAILURES.values(), start=1):
        page.evaluate(f"location.hash = 'submission=sub-{number}'")
        for line in lines:
            expect(page.locator(".failed")).to_contain_text(line)

    page.get_by_role("button", name="Hand in again").click()

    expect(answer(page)).to_have_value(ESSAY)
    expect(answer(page)).to_be_focused()


def test_a_late_result_is_shown_with_a_note(api, look):
    api.add("FAILED", isLate=True, lateResult=result())
    page = look("#submission=sub-1")

    expect(page.locator("#state")).to_contain_text("came after the time was up")
    expect(page.locator(".overall")).to_contain_text("6.5")


def test_one_that_waits_can_be_withdrawn_after_a_question(api, look):
    api.add("PENDING")
    page = look("#submission=sub-1")
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()

    expect(page.locator("#state")).to_contain_text("It was withdrawn.")


def test_everybody_sees_that_grading_is_paused(api, look):
    api.session = {"name": "ann", "role": "submitter", "owner": "ann"}
    api.paused = True
    page = look()

    expect(page.locator("#paused")).to_contain_text("away for the moment")
    expect(page.locator("#tabs")).to_be_hidden()


def test_without_scripts_there_is_a_way_to_the_plain_pages(api, look):
    page = look(java_script_enabled=False)

    link = page.get_by_role("link", name="prompts, a form, and your submissions")
    expect(link).to_have_attribute("href", "../api/submission-pages")
