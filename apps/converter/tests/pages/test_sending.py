"""Files on their way in: how they are given, how far they are, and why one is refused."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from apps.converter.tests.pages.gestures import choose, drop, paste, row, sending
from apps.converter.tests.pages.stand_in_api import MAX_BYTES, Refusal

BIG_BYTES = 40 * 1024 * 1024


def names(api):
    return sorted(each.filename for each in api.received)


def test_several_files_dropped_at_once_are_all_sent_and_listed(api, page):
    drop(page, "a.pdf", "b.pdf", "c.pdf", "d.pdf")

    for name in ("a.pdf", "b.pdf", "c.pdf", "d.pdf"):
        expect(row(page, name)).to_contain_text("Waiting")
    expect(page.locator("#uploads")).to_be_hidden()
    assert names(api) == ["a.pdf", "b.pdf", "c.pdf", "d.pdf"]
    assert {each.content.decode()[-5:] for each in api.received} == set(names(api))


def test_a_file_that_misses_the_zone_is_taken_and_the_page_stays(api, page):
    drop(page, "a.pdf", on="h1")

    expect(row(page, "a.pdf")).to_be_visible()
    expect(page).to_have_url(f"{api.address}/convert/")


def test_the_zone_shows_that_files_are_over_it_until_they_are_let_go(api, page):
    zone = page.locator("#drop")
    carried = page.evaluate_handle(
        "() => { const made = new DataTransfer(); made.items.add(new File(['x'], 'a.pdf'));"
        " return made; }"
    )

    page.dispatch_event("body", "dragenter", {"dataTransfer": carried})
    expect(zone).to_have_class(re.compile("over-me"))
    page.dispatch_event("body", "dragleave", {"dataTransfer": carried})

    expect(zone).not_to_have_class(re.compile("over-me"))
    assert api.received == []


def test_files_can_be_chosen_and_pasted(api, page):
    choose(page, "chosen.pdf", "chosen-too.pdf")
    paste(page, "pasted.pdf")

    expect(page.locator("#rows tr")).to_have_count(3)
    assert names(api) == ["chosen-too.pdf", "chosen.pdf", "pasted.pdf"]


def test_files_that_are_given_before_the_mappings_are_known_are_sent_with_the_first(api, look):
    api.listing.clear()
    page = look()
    paste(page, "early.pdf")
    api.listing.set()

    expect(row(page, "early.pdf")).to_be_visible()
    assert [each.mapping for each in api.received] == ["text"]


def test_the_mapping_is_explained_and_sent_before_the_file(api, page):
    expect(page.get_by_label("Mapping").locator("option")).to_have_text(["text", "layout", "raw"])
    expect(page.locator("#mapping-hint")).to_contain_text("Pages and lines")

    page.get_by_label("Mapping").select_option("layout")
    expect(page.locator("#mapping-hint")).to_contain_text("position and font")
    choose(page, "a.pdf")

    expect(row(page, "a.pdf")).to_contain_text("layout")
    assert [(each.fields, each.mapping) for each in api.received] == [
        (["mapping", "file"], "layout")
    ]


def test_progress_is_shown_while_a_file_is_sent(api, page, tmp_path):
    api.reading.clear()
    big = tmp_path / "big.pdf"
    with big.open("wb") as file:
        file.truncate(BIG_BYTES)

    page.get_by_label("Choose PDFs").set_input_files(big)
    bar = sending(page, "big.pdf").get_by_role("progressbar", name="Upload of big.pdf")
    page.wait_for_function("() => document.querySelector('progress').value > 0")
    part = bar.evaluate("(bar) => bar.value")
    expect(sending(page, "big.pdf").locator(".line")).to_have_text(re.compile(r"^\d+ %$"))
    expect(page.get_by_role("heading", name="Sending 1 file")).to_be_visible()
    api.reading.set()

    expect(row(page, "big.pdf")).to_contain_text("40 MB")
    expect(sending(page, "big.pdf")).to_have_count(0)
    assert 0 < part < 100
    assert [len(each.content) for each in api.received] == [BIG_BYTES]


def test_no_more_than_three_files_are_sent_at_once(api, page):
    api.reading.clear()

    drop(page, *(f"{n}.pdf" for n in range(7)))
    expect(page.locator("#upload-rows .line", has_text="Waiting")).to_have_count(4)
    api.until(lambda: api.most_at_once == 3)
    api.reading.set()

    expect(page.locator("#rows tr")).to_have_count(7)
    assert api.most_at_once == 3


def test_an_upload_can_be_cancelled_and_one_that_waits_takes_its_place(api, page):
    api.reading.clear()
    drop(page, "1.pdf", "2.pdf", "3.pdf", "4.pdf")
    expect(sending(page, "4.pdf")).to_contain_text("Waiting")

    page.get_by_role("button", name="Cancel 1.pdf").click()

    expect(sending(page, "1.pdf")).to_have_count(0)
    expect(sending(page, "4.pdf")).not_to_contain_text("Waiting")


def test_a_file_that_was_sent_before_points_to_its_conversion(api, page):
    api.add("a.pdf", "complete")
    api.tell("complete")
    expect(row(page, "a.pdf")).to_contain_text("Ready")

    choose(page, "a.pdf")

    expect(sending(page, "a.pdf")).to_contain_text("You sent this file before")
    expect(row(page, "a.pdf")).to_have_class(re.compile("changed"))
    expect(page.locator("#rows tr")).to_have_count(1)
    page.get_by_role("button", name="Dismiss a.pdf").click()
    expect(page.locator("#uploads")).to_be_hidden()


@pytest.mark.parametrize(
    ("refusal", "may_pass"),
    [
        (Refusal(400, "NOT_PDF", "Only PDF files are supported."), False),
        (Refusal(413, "TOO_LARGE", "File exceeds 50 MB limit."), False),
        (Refusal(500, "IO_ERROR", "Storage issue. Try again later."), True),
        (Refusal(429, "QUOTA_REACHED", "20 conversions of yours are under way."), True),
    ],
    ids=lambda each: getattr(each, "code", None),
)
def test_a_refusal_is_shown_in_the_words_of_the_server(api, page, refusal, may_pass):
    api.refusals["a.pdf"] = refusal

    drop(page, "a.pdf", "b.pdf")

    expect(sending(page, "a.pdf").locator(".line")).to_have_text(refusal.detail)
    expect(row(page, "b.pdf")).to_be_visible()
    said = page.get_by_role("log", name="What has happened")
    expect(said).to_contain_text(f"a.pdf: {refusal.detail}")
    expect(said).to_contain_text("b.pdf is sent.")
    again = page.get_by_role("button", name="Send again a.pdf")
    expect(again).to_be_visible(visible=may_pass)
    if may_pass:
        del api.refusals["a.pdf"]
        again.click()
        expect(row(page, "a.pdf")).to_be_visible()
        expect(sending(page, "a.pdf")).to_have_count(0)


def test_a_file_over_the_limit_is_refused_before_it_is_sent(api, page, tmp_path):
    for name, size in (("fits.pdf", MAX_BYTES), ("over.pdf", MAX_BYTES + 1)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)

    page.get_by_label("Choose PDFs").set_input_files([tmp_path / "over.pdf", tmp_path / "fits.pdf"])

    expect(sending(page, "over.pdf").locator(".line")).to_have_text("File exceeds 50 MB limit.")
    expect(row(page, "fits.pdf")).to_be_visible()
    assert names(api) == ["fits.pdf"]


def test_refusals_can_be_cleared_together(api, page):
    for name in ("a.pdf", "b.pdf"):
        api.refusals[name] = Refusal(400, "NOT_PDF", "Only PDF files are supported.")
    drop(page, "a.pdf", "b.pdf")
    expect(sending(page, "b.pdf")).to_contain_text("Only PDF")

    page.get_by_role("button", name="Clear").click()

    expect(page.locator("#uploads")).to_be_hidden()


def test_a_file_whose_connection_broke_off_can_be_sent_again(api, look):
    page = look(breaks="net::ERR_FAILED")
    expect(page.locator("#empty")).to_be_visible()
    page.route("**/api/upload", lambda route: route.abort())
    choose(page, "a.pdf")
    expect(sending(page, "a.pdf")).to_contain_text("the connection broke off")

    page.unroute("**/api/upload")
    page.get_by_role("button", name="Send again a.pdf").click()

    expect(row(page, "a.pdf")).to_be_visible()


def test_somebody_signed_in_to_the_console_sends_the_token_of_their_session(api, page):
    api.csrf_token = "made-for-ada"

    choose(page, "a.pdf")

    expect(row(page, "a.pdf")).to_be_visible()
    expect(page.locator("#uploads")).to_be_hidden()
    assert api.asked.count("upload") == 1


def test_the_token_of_a_new_session_is_sent_once_the_old_one_is_refused(api, page):
    choose(page, "a.pdf")
    expect(row(page, "a.pdf")).to_be_visible()
    api.csrf_token = "made-for-ada"

    choose(page, "b.pdf")

    expect(row(page, "b.pdf")).to_be_visible()


def test_a_name_that_is_markup_is_shown_as_text(api, page):
    name = "<img src=x onerror=alert(1)>.pdf"
    api.refusals["<b>no</b>.pdf"] = Refusal(400, "NOT_PDF", "<i>Only</i> PDF files.")

    drop(page, name, "<b>no</b>.pdf")

    expect(row(page, name).locator(".name")).to_have_text(name)
    expect(sending(page, "<b>no</b>.pdf").locator(".line")).to_have_text("<i>Only</i> PDF files.")
    assert page.locator("#rows img, #upload-rows b, #upload-rows i").count() == 0
    page.get_by_role("button", name=f"Remove {name}").click()
    expect(page.get_by_role("heading", name=f"Remove {name}?")).to_be_visible()
    assert page.locator("dialog img").count() == 0
