"""The page in a real browser, with the real API, the offline extractor and Notion's stand-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from apps.collabiq.tests.running import System, running
from collabiq.http.routes import routes_of
from collabiq.pages.pages import pages
from collabiq.system import BODY_LIMITS
from holdfast.api import ApiOptions, Server, create_api
from tests.console.browser.conftest import FLAGS, PATIENCE_MS, WATCH, _abroad, _dismiss, chromium
from tests.plugins.postgres import missing_server

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
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def system(sqlite_url: str, tmp_path: Path) -> Iterator[System]:
    with running(sqlite_url, tmp_path, start=datetime.now(UTC)) as made:
        yield made


@pytest.fixture
def address(system: System) -> Iterator[str]:
    """Where the page is served, to anybody on this machine."""
    options = ApiOptions(host="127.0.0.1", body_limits=BODY_LIMITS)
    api = create_api(system.engine, options=options)
    api.include_router(routes_of(system.collabiq))
    api.mount("/collabiq", pages(system.engine))
    server = Server(api)
    server.start()
    yield server.address
    server.request_stop()
    server.wait(10)


@pytest.fixture
def look(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the page; afterwards none may have complained, or called another host."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_page(view: str = "", **options: object) -> Page:
        context = browser.new_context(base_url=address, **options)
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
        page.on("request", lambda request: _abroad(wrong, address, request.url))
        page.goto(f"/collabiq/{view}")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            wrong += page.evaluate("window.__reports ?? []")
        context.close()
    assert wrong == []
