"""A page in a real browser with a scripted API behind it, and what the page complained of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from apps.grading.tests.pages.grading_stand_in import StandInApi
from holdfast import Holdfast
from tests.console.browser.conftest import FLAGS, PATIENCE_MS, WATCH, _abroad, _dismiss, chromium
from tests.plugins.postgres import missing_server

MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
# How a browser calls answers of 4xx and 5xx; tests look at those themselves.
ANSWERED = "the server responded with a status of"


# As in the console's tests: not for longer than a module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        missing_server("there is no chromium; as root, .ci/chromium installs Debian's")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS + MICROPHONE)
        yield started
        started.close()


@pytest.fixture
def api(sqlite_url: str) -> Iterator[StandInApi]:
    app = Holdfast(sqlite_url, pipelines=[])
    made = StandInApi(app)
    yield made
    made.close()
    app.close()


@pytest.fixture
def look(browser: Browser, api: StandInApi) -> Iterator[Callable[..., Page]]:
    """Opens the page; afterwards none may have complained, or asked another host."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_page(view: str = "", **options: object) -> Page:
        context = browser.new_context(base_url=api.address, **options)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()

        def complain(kind: str, text: str) -> None:
            if kind in {"error", "warning"} and ANSWERED not in text:
                wrong.append(f"{kind}: {text}")

        page.on("console", lambda message: complain(message.type, message.text))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: _dismiss(wrong, dialog))
        page.on("request", lambda request: _abroad(wrong, api.address, request.url))
        page.goto(f"/grading/{view}")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            wrong += page.evaluate("window.__reports ?? []")
        context.close()
    assert wrong == []
