"""The page in a real browser, against a running server and worker."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf
from apps.converter.tests.pages.gestures import row, sending
from apps.converter.tests.scripted_gateway import XML, Reply
from tests.console.browser.conftest import PATIENCE_MS, WATCH, browser

__all__ = ["browser"]

# A browser, a server and a worker: on a busy machine it takes a while until they are up.
pytestmark = pytest.mark.timeout(240)

BUSY = "Converter busy — jobs will resume automatically."
ANSWERED = "the server responded with a status of"
BIG_BYTES = 4 * 1024 * 1024
SLOW = {
    "offline": False,
    "latency": 0,
    "downloadThroughput": -1,
    "uploadThroughput": 2 * 1024 * 1024,
}
SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg"><script>window.ran = alert(1)</script></svg>'


@pytest.fixture
def look(browser):
    """Opens the page of a site; afterwards none may have complained of anything."""
    contexts, wrong = [], []

    def open_page(site):
        context = browser.new_context(base_url=site.front.address)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda said: (
                wrong.append(said.text)
                if said.type in {"error", "warning"} and ANSWERED not in said.text
                else None
            ),
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.goto("/convert")
        expect(page.locator("#live")).to_have_text("live")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            wrong += page.evaluate("window.__reports ?? []")
        context.close()
    assert wrong == []


def choose(page, name, body):
    page.get_by_label("Choose PDFs").set_input_files(
        {"name": name, "mimeType": "application/pdf", "buffer": body}
    )


def xml_of(page, name):
    """Download the XML of a file, and return what it is saved as and what is in it."""
    with page.expect_download() as started:
        row(page, name).get_by_role("link", name="Download the XML").click()
    return started.value.suggested_filename, Path(started.value.path()).read_bytes()


def test_a_file_is_seen_on_its_way_followed_live_and_fetched(site, look):
    held, pdf = Held(), new_pdf(BIG_BYTES)
    site.will_get(pdf, Reply(body=held))
    page = look(site)
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    page.get_by_label("Mapping").select_option("layout")

    choose(page, "report.pdf", pdf)
    expect(sending(page, "report.pdf").locator(".line")).to_have_text(re.compile(r"^[1-9]\d? %$"))
    badge = row(page, "report.pdf").locator(".badge")
    expect(badge).to_have_text("Converting")
    expect(row(page, "report.pdf")).to_contain_text("4.0 MB")
    expect(row(page, "report.pdf")).to_contain_text("1 of 3")
    held.release()
    expect(badge).to_have_text("Ready")

    assert xml_of(page, "report.pdf") == ("report.xml", XML)
    assert [call.parameter("mapping") for call in site.calls_for(pdf)] == ["layout"]


def test_a_file_that_failed_says_why_and_is_retried_by_its_button(site, look):
    pdf = new_pdf()
    site.will_get(pdf, Reply(status=400, body=b'{"detail": "Unsupported mapping."}'), Reply())
    page = look(site)

    choose(page, "report.pdf", pdf)
    expect(row(page, "report.pdf").locator(".badge")).to_have_text("Failed")
    expect(row(page, "report.pdf").locator(".line")).to_have_text(
        "Couldn’t convert this file with the selected mapping. Unsupported mapping."
    )
    page.get_by_role("button", name="Retry report.pdf").click()

    expect(row(page, "report.pdf").locator(".badge")).to_have_text("Ready")
    assert xml_of(page, "report.pdf") == ("report.xml", XML)
    assert len(site.calls_for(pdf)) == 2


def test_a_failed_file_whose_source_is_gone_cannot_be_retried(site, look):
    pdf = new_pdf()
    site.will_get(pdf, Reply(status=400))
    page = look(site)
    choose(page, "report.pdf", pdf)
    retry = page.get_by_role("button", name="Retry report.pdf")
    expect(retry).to_be_enabled()

    for source in (site.folder / "uploads").iterdir():
        if source.read_bytes() == pdf:
            source.unlink()
    page.reload()

    expect(retry).to_be_disabled()


def test_what_is_refused_says_so_on_its_way_and_in_the_list(site, look):
    page = look(site)

    choose(page, "picture.pdf", SCRIPT)

    expect(sending(page, "picture.pdf").locator(".line")).to_have_text(
        "Only PDF files are supported."
    )
    expect(row(page, "picture.pdf").locator(".badge")).to_have_text("Failed")


def test_the_banner_stands_while_the_breaker_is_open_and_jobs_go_on_by_themselves(site_with, look):
    site = site_with(CIRCUIT_WINDOW="4", CIRCUIT_COOLDOWN_MS="300", RETRY_MAX_ATTEMPTS="5")
    site.gateway.health = site.gateway.usual = Reply(status=503)
    page = look(site)
    names = [f"{number}.pdf" for number in range(5)]
    page.get_by_label("Choose PDFs").set_input_files(
        [{"name": name, "mimeType": "application/pdf", "buffer": new_pdf()} for name in names]
    )
    banner = page.get_by_role("status").filter(has_text="Converter busy")

    expect(banner).to_have_text(BUSY)
    for name in names:
        expect(row(page, name).locator(".badge")).to_have_text("Waiting")
    site.gateway.usual, site.gateway.health = Reply(), Reply(body=b"{}")

    for name in names:
        expect(row(page, name).locator(".badge")).to_have_text("Ready")
    expect(banner).to_have_count(0)


def test_a_result_full_of_scripts_is_saved_and_never_opened(site, look):
    pdf = new_pdf()
    site.will_get(pdf, Reply(body=SCRIPT))
    page = look(site)
    choose(page, "report.pdf", pdf)
    link = row(page, "report.pdf").get_by_role("link", name="Download the XML")
    expect(link).to_be_visible()
    address = link.evaluate("(link) => link.href")

    # As somebody would who was sent the address, without the link's own wish to save it.
    with page.expect_download() as started:
        page.evaluate("(address) => { location.assign(address); }", address)

    assert Path(started.value.path()).read_bytes() == SCRIPT
    assert page.url == f"{site.front.address}/convert/"
    assert page.evaluate("window.ran ?? null") is None


def test_a_removed_file_says_that_it_was_removed(site, look):
    page = look(site)
    choose(page, "report.pdf", new_pdf())
    expect(row(page, "report.pdf").locator(".badge")).to_have_text("Ready")

    page.get_by_role("button", name="Remove report.pdf").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(row(page, "report.pdf").locator(".badge")).to_have_text("Removed")
    expect(row(page, "report.pdf")).not_to_contain_text("retention")
    expect(row(page, "report.pdf").get_by_role("link")).to_have_count(0)
