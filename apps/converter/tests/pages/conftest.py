"""A page in a real browser with a scripted API behind it, and what the page complained of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from apps.converter.tests.pages.stand_in_api import StandInApi
from holdfast import Holdfast
from tests.console.browser.conftest import PATIENCE_MS, WATCH, _abroad, _dismiss, browser

__all__ = ["browser"]

# How a browser calls answers of 4xx and 5xx; tests look at those themselves.
ANSWERED = "the server responded with a status of"


@pytest.fixture
def api(sqlite_url: str) -> Iterator[StandInApi]:
    app = Holdfast(sqlite_url, pipelines=[])
    made = StandInApi(app)
    yield made
    made.close()
    app.close()


@pytest.fixture
def look(browser: Browser, api: StandInApi) -> Iterator[Callable[..., Page]]:
    """Opens the page; afterwards none may have complained, or asked another host.

    `breaks` is what a test breaks on purpose, as the browser calls it; with `clock` the test can
    have time pass.
    """
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_page(*, breaks: str = ANSWERED, clock: bool = False, **options: object) -> Page:
        context = browser.new_context(base_url=api.address, **options)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()

        def complain(kind: str, text: str) -> None:
            if kind in {"error", "warning"} and ANSWERED not in text and breaks not in text:
                wrong.append(f"{kind}: {text}")

        page.on("console", lambda message: complain(message.type, message.text))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: _dismiss(wrong, dialog))
        page.on("request", lambda request: _abroad(wrong, api.address, request.url))
        if clock:
            page.clock.install()
        page.goto("/convert")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            wrong += page.evaluate("window.__reports ?? []")
        context.close()
    assert wrong == []


@pytest.fixture
def page(look: Callable[..., Page]) -> Page:
    opened = look()
    expect(opened.get_by_label("Choose PDFs")).to_be_attached()
    return opened
