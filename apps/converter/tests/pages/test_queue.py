"""The list of conversions: what is told of each, how it follows, what can be done."""

from __future__ import annotations

import re
from time import monotonic, sleep

from playwright.sync_api import expect

from apps.converter.tests.pages.gestures import row
from apps.converter.tests.pages.stand_in_api import GATEWAY_FAILS, WORDS, Refusal

BUSY = "Converter busy — jobs will resume automatically."


def test_an_empty_list_says_what_to_do(page):
    expect(page.locator("#empty")).to_contain_text("No files yet")
    expect(page.locator("#empty")).to_contain_text("add PDFs above")
    expect(page.get_by_role("table")).to_be_hidden()


def test_every_state_is_said_in_plain_words(api, look):
    for state in WORDS:
        api.add(f"{state}.pdf", state)
    page = look()

    for state, word in {
        "queued": "Waiting",
        "processing": "Converting",
        "complete": "Ready",
        "failed": "Failed",
        "cancelled": "Cancelled",
        "expired": "Expired",
        "removed": "Removed",
    }.items():
        expect(row(page, f"{state}.pdf").locator(".badge")).to_have_text(word)
    expect(row(page, "processing.pdf")).to_contain_text("Being converted.")
    expect(row(page, "complete.pdf").locator(".line")).to_have_text("")
    expect(page.locator("#summary")).to_have_text("2 under way, 1 ready")


def test_a_row_tells_size_attempts_time_and_the_one_line_error(api, look):
    api.add("a.pdf", "failed", size=1_572_864, mapping="layout")
    page = look()
    told = row(page, "a.pdf")

    expect(told.locator(".size")).to_have_text("1.5 MB")
    expect(told.locator(".attempt")).to_have_text("3 of 3")
    expect(told.locator("time")).to_have_text("1 min ago")
    expect(told.locator("time")).to_have_attribute("title", re.compile("Sent .+, finished .+"))
    expect(told.locator(".took")).to_have_text("after 4.0 s")
    expect(told.locator(".line")).to_have_text(GATEWAY_FAILS)
    expect(told).not_to_contain_text(WORDS["failed"])


def test_a_conversion_changes_by_itself_when_an_event_comes(api, look):
    made = api.add("a.pdf")
    page = look()
    expect(row(page, "a.pdf")).to_contain_text("Waiting")
    expect(page.locator("#live")).to_have_text("live")

    made |= {"state": "processing", "says": WORDS["processing"], "attempt": 1}
    api.tell("processing")
    expect(row(page, "a.pdf")).to_contain_text("1 of 3")
    made |= {"state": "complete", "says": WORDS["complete"], "download": "/api/jobs/x/download"}
    api.tell("complete")

    expect(page.get_by_role("link", name="Download the XML of a.pdf")).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("a.pdf: Ready.")
    assert "stream pipeline=convert" in api.asked


def test_many_events_do_not_make_the_page_look_more_than_twice_a_second(api, page):
    expect(page.locator("#live")).to_have_text("live")
    api.until(lambda: api.asked.count("list") >= 2)
    before, began = api.asked.count("list"), monotonic()

    for _ in range(40):
        api.tell("processing")
        sleep(0.05)
    api.add("last.pdf")
    api.tell("queued")
    expect(row(page, "last.pdf")).to_be_visible()

    looks, lasted_s = api.asked.count("list") - before, monotonic() - began
    assert 2 <= looks <= lasted_s / 0.5 + 1


def test_the_list_is_still_followed_while_there_are_no_events(api, look):
    api.refusals["stream"] = Refusal(503, "unavailable", "later")
    made = api.add("a.pdf")
    page = look(clock=True)
    expect(row(page, "a.pdf")).to_contain_text("Waiting")
    expect(page.locator("#live")).to_have_text("reconnecting")

    made |= {"state": "processing", "says": WORDS["processing"], "attempt": 1}
    page.clock.fast_forward(5_000)
    # Well before it would look by itself although there are events.
    expect(row(page, "a.pdf")).to_contain_text("Converting", timeout=8_000)
    del api.refusals["stream"]
    page.clock.fast_forward(5_000)

    expect(page.locator("#live")).to_have_text("live")


def test_the_xml_is_downloaded(api, look):
    api.add("report.pdf", "complete")
    page = look()

    with page.expect_download() as download:
        page.get_by_role("link", name="Download the XML of report.pdf").click()

    assert download.value.suggested_filename == "report.xml"
    assert download.value.path().read_text() == "<document/>"


def test_a_failed_conversion_can_be_tried_again(api, look):
    made = api.add("a.pdf", "failed")
    page = look()

    page.get_by_role("button", name="Retry a.pdf").click()

    expect(row(page, "a.pdf")).to_contain_text("Waiting")
    expect(row(page, "a.pdf")).not_to_contain_text(GATEWAY_FAILS)
    expect(page.get_by_role("button", name="Retry a.pdf")).to_be_hidden()
    expect(page.get_by_role("button", name="Remove a.pdf")).to_be_focused()
    assert f"retry {made['id']}" in api.asked


def test_only_what_failed_offers_to_be_tried_again(api, look):
    for state in WORDS:
        api.add(f"{state}.pdf", state)
    page = look()
    expect(row(page, "failed.pdf")).to_be_visible()

    expect(page.get_by_role("button", name=re.compile("^Retry"))).to_have_count(1)


def test_a_conversion_whose_pdf_is_gone_says_why_it_cannot_be_tried_again(api, look):
    api.add("a.pdf", "failed", can_retry=False)
    page = look()
    retry = page.get_by_role("button", name="Retry a.pdf")

    expect(retry).to_be_disabled()
    expect(retry).to_have_attribute("title", "The PDF is no longer here; send it again.")


def test_no_retry_is_offered_where_the_sender_has_to_correct_the_file(api, look):
    api.add("a.pdf", "failed", retryable=False, can_retry=False)
    page = look()
    expect(row(page, "a.pdf")).to_contain_text("Failed")

    expect(page.get_by_role("button", name="Retry a.pdf")).to_be_hidden()


def test_a_retry_that_comes_too_late_says_so_in_its_row(api, look):
    api.add("a.pdf", "failed")
    api.refusals["retry"] = Refusal(409, "wrong_state", "The file is being converted already.")
    page = look()

    page.get_by_role("button", name="Retry a.pdf").click()

    expect(row(page, "a.pdf").locator(".line")).to_have_text("The file is being converted already.")


def test_a_file_can_be_removed_while_the_answer_to_its_retry_is_on_its_way(api, look):
    api.add("a.pdf", "failed")
    api.answering_retries.clear()
    page = look()
    page.get_by_role("button", name="Retry a.pdf").click()
    api.until(lambda: bool(api.asked))
    api.tell("queued")
    expect(row(page, "a.pdf")).to_contain_text("Waiting")

    page.get_by_role("button", name="Remove a.pdf").click()

    expect(page.get_by_role("button", name="Keep it")).to_be_focused()


def test_a_file_is_removed_once_that_is_confirmed(api, look):
    api.add("a.pdf", "complete")
    api.add("b.pdf", "complete")
    page = look()

    page.get_by_role("button", name="Remove b.pdf").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert len(api.rows) == 2
    page.get_by_role("button", name="Remove b.pdf").click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be undone")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(row(page, "b.pdf")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove a.pdf")).to_be_focused()
    assert [each["filename"] for each in api.rows] == ["a.pdf"]


def test_a_removed_file_that_stays_listed_has_nothing_left_to_remove(api, look):
    api.add("a.pdf", "complete")
    api.keeps_removed = True
    page = look()

    page.get_by_role("button", name="Remove a.pdf").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(row(page, "a.pdf")).to_contain_text("Removed")
    expect(row(page, "a.pdf").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("link", name=re.compile("^Download"))).to_have_count(0)
    expect(page.get_by_role("heading", name="Your files")).to_be_focused()


def test_the_banner_stands_as_long_as_the_converter_is_busy(api, look):
    api.paused = True
    api.add("a.pdf")
    page = look()
    banner = page.get_by_role("status").filter(has_text="Converter busy")
    expect(banner).to_have_text(BUSY)

    api.paused = False
    api.tell("processing")

    expect(banner).to_have_count(0)
    api.paused = True
    api.tell("held")
    expect(banner).to_have_text(BUSY)


def test_the_banner_goes_without_an_event_too(api, look):
    # That the breaker has closed concerns no job, so owners of jobs are not told of it.
    api.paused = True
    page = look(clock=True)
    banner = page.get_by_role("status").filter(has_text="Converter busy")
    expect(banner).to_have_text(BUSY)
    expect(page.locator("#live")).to_have_text("live")
    api.until(lambda: api.asked.count("list") == 2)

    api.paused = False
    page.clock.fast_forward(20_000)

    expect(banner).to_have_count(0)


def test_a_server_that_cannot_answer_is_told_of_until_it_can(api, look):
    api.refusals["conversions"] = Refusal(503, "unavailable", "The database is away.")
    page = look()
    expect(page.get_by_role("alert")).to_contain_text("The database is away.")

    del api.refusals["conversions"]
    api.tell("gap")

    expect(page.locator("#empty")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("")


def test_somebody_who_has_to_sign_in_is_led_there(api, look):
    api.refusals["conversions"] = Refusal(401, "credentials_missing", "send a token")
    page = look()

    expect(page.get_by_role("link", name="Sign in")).to_have_attribute(
        "href", "../login?next=/convert/"
    )


def test_a_hundred_rows_say_that_there_may_be_more(api, look):
    for n in range(101):
        api.add(f"{n}.pdf", "complete")
    page = look()

    expect(page.locator("#rows tr")).to_have_count(100)
    expect(page.locator("#more")).to_have_text("The newest 100 files are shown.")
    expect(page.locator("#rows tr").first).to_contain_text("100.pdf")


def test_a_row_keeps_its_place_for_the_keyboard_while_others_come(api, look):
    api.add("a.pdf", "failed")
    page = look()
    page.get_by_role("button", name="Retry a.pdf").focus()

    api.add("b.pdf")
    api.tell("queued")

    expect(page.locator("#rows tr").first).to_contain_text("b.pdf")
    expect(page.get_by_role("button", name="Retry a.pdf")).to_be_focused()
