"""What the page looks like: on a phone, in the dark, with a keyboard alone, without scripts.

Pictures are left in build/screenshots for people to look at.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from apps.converter.tests.pages.gestures import PDF, drop, row, sending
from apps.converter.tests.pages.stand_in_api import Refusal
from tests.console.browser.test_looks import CONTRAST, DESK, LEAST_CONTRAST, OUTLINE

SHOTS = Path(__file__).parents[4] / "build" / "screenshots"
SMALLEST = {"width": 320, "height": 640}
PHONE = {"width": 390, "height": 844}
TABLET = {"width": 768, "height": 1024}
WAYS = {
    "light": ("light", DESK),
    "dark": ("dark", DESK),
    "tablet": ("light", TABLET),
    "phone": ("light", PHONE),
    "phone-dark": ("dark", PHONE),
    "smallest": ("light", SMALLEST),
}
LONG = "a-name-without-a-single-space-that-goes-on-for-longer-than-any-column-is-wide" * 2


def fill(api):
    """One conversion of each kind."""
    api.add("Lease agreement 2019.pdf", "expired", error_message=None)
    api.add("Minutes of the annual general meeting.pdf", "cancelled")
    api.add(f"{LONG}.pdf", "complete", size=12_582_912, mapping="raw")
    api.add("Invoice 2026-0417.pdf", "complete")
    api.add("Price list.pdf", "failed")
    api.add(
        "Scan 0031.pdf",
        "failed",
        can_retry=False,
        attempt=1,
        error_code="GW_4XX",
        error_message="Couldn’t convert this file with the selected mapping.",
    )
    api.add("Annual report.pdf", "processing", attempt=2, size=3_984_588, mapping="layout")
    api.add("Delivery note 88.pdf")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["empty", "full", "asking"])
def test_the_page_fits_and_can_be_read(api, look, kind):
    if kind != "empty":
        fill(api)
        api.paused = True
    page = look()
    expect(page.get_by_role("heading", name="Your files")).to_be_visible()
    if kind == "full":
        api.refusals["Letter.docx"] = Refusal(400, "NOT_PDF", "Only PDF files are supported.")
        drop(page, "Letter.docx", "Invoice 2026-0417.pdf")
        expect(sending(page, "Letter.docx")).to_contain_text("Only PDF")
        api.reading.clear()
        drop(page, "Contract.pdf", "Offer.pdf", "Order.pdf", "Receipt.pdf")
        expect(sending(page, "Receipt.pdf")).to_contain_text("Waiting")
    if kind == "asking":
        page.get_by_role("button", name="Remove Price list.pdf").click()
    SHOTS.mkdir(parents=True, exist_ok=True)
    wide, poor = [], []

    outline = page.evaluate(OUTLINE)
    for way, (scheme, size) in WAYS.items():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        page.screenshot(path=SHOTS / f"convert-{kind}-{way}.png", full_page=kind != "asking")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(way)
        poor += [f"{way}: {each}" for each in page.evaluate(CONTRAST, LEAST_CONTRAST)]

    assert outline == {"main": 1, "h1": 1, "unnamed": 0, "language": "en"}
    assert wide == []
    assert poor == []


@pytest.mark.timeout(120)
def test_at_no_width_is_the_page_wider_than_its_window(api, look):
    fill(api)
    page = look()
    expect(row(page, "Price list.pdf")).to_be_visible()
    wide = []

    for width in range(320, 1400, 20):
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(width)

    assert wide == []


def test_rows_are_cards_where_there_is_no_room_for_columns(api, look):
    api.add("a.pdf", "complete")
    page = look(viewport=DESK)
    name, size = row(page, "a.pdf").locator(".name"), row(page, "a.pdf").locator(".size")
    expect(name).to_be_visible()
    on_desk = name.bounding_box(), size.bounding_box()

    page.set_viewport_size(SMALLEST)
    on_phone = name.bounding_box(), size.bounding_box()

    assert on_desk[1]["x"] > on_desk[0]["x"] + on_desk[0]["width"]
    assert on_phone[1]["y"] >= on_phone[0]["y"] + on_phone[0]["height"]


def test_everything_can_be_done_with_the_keyboard_alone(api, look):
    api.add("done.pdf", "complete")
    api.add("failed.pdf", "failed")
    page = look()
    expect(row(page, "failed.pdf")).to_be_visible()

    def tab_to(name):
        for _ in range(12):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "() => document.activeElement.getAttribute('aria-label') ??"
                " document.activeElement.labels?.[0]?.textContent.trim() ??"
                " document.activeElement.textContent"
            )
            if focused.startswith(name):
                return
        raise AssertionError(f"{name} is not reached")

    # What opens a chooser must be awaited before the key is pressed, or a real one opens.
    page.on("filechooser", lambda _: None)
    tab_to("Choose PDFs")
    assert (
        page.locator("#drop").evaluate("(drop) => getComputedStyle(drop).outlineStyle") == "solid"
    )
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    tab_to("Mapping")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Mapping")).to_have_value("layout")
    chooser.value.set_files({"name": "new.pdf", "mimeType": "", "buffer": PDF.encode()})
    expect(row(page, "new.pdf")).to_contain_text("layout")
    tab_to("Retry failed.pdf")
    page.keyboard.press("Enter")
    expect(row(page, "failed.pdf")).to_contain_text("Waiting")
    expect(page.get_by_role("button", name="Remove failed.pdf")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Remove failed.pdf")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(row(page, "failed.pdf")).to_have_count(0)
    tab_to("Remove done.pdf")


def test_nothing_moves_for_those_who_asked_for_that(api, look):
    api.add("a.pdf", "complete")
    page = look(reduced_motion="reduce")
    drop(page, "a.pdf")
    expect(sending(page, "a.pdf")).to_contain_text("You sent this file before")

    assert page.evaluate("() => document.getAnimations().length") == 0


def test_the_way_back_to_the_console_is_shown_to_those_whom_it_lets_in(api, look):
    page = look()
    expect(page.locator("#empty")).to_be_visible()
    expect(page.locator("a#console")).to_be_hidden()

    api.console = True
    page.reload()

    back = page.get_by_role("link", name="holdfast")
    expect(back).to_be_visible()
    assert back.evaluate("(link) => link.href") == f"{api.address}/"


def test_without_scripts_a_file_can_still_be_sent(api, look):
    page = look(java_script_enabled=False)
    told = page.locator("noscript section")
    expect(told).to_be_visible()
    assert "need JavaScript" in told.evaluate("(section) => section.innerText")
    expect(page.locator("#send")).to_be_hidden()

    page.locator("noscript select").select_option("raw")
    page.locator("noscript input[type=file]").set_input_files(
        {"name": "a.pdf", "mimeType": "application/pdf", "buffer": PDF.encode()}
    )
    page.locator("noscript button").click()

    expect(page).to_have_url(f"{api.address}/api/upload")
    assert [(each.fields, each.mapping) for each in api.received] == [(["mapping", "file"], "raw")]
