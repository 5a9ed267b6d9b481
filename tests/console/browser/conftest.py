"""One Chromium for all tests, a server and a worker behind it, and what each page complained of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from tests.console.browser.stage import Stage
from tests.plugins.postgres import missing_server

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One process for all sites of a context: there is but one, and each takes a second to start.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process",
    "--renderer-process-limit=1",
]
PATIENCE_MS = 20_000
WATCH = """
window.__reports = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__reports.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


def chromium() -> str | None:
    """Where the browser is, if there is one; one without windows takes half the time."""
    asked = os.environ.get("HOLDFAST_TEST_CHROMIUM")
    names = (asked, "chromium-headless-shell", "chromium", "chromium-browser")
    return next((found for name in names if name and (found := shutil.which(name))), None)


# Not for longer than a module: while it is there its event loop counts as running, and no other
# test of this process could run one.
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
def stage(sqlite_url: str) -> Iterator[Stage]:
    """A console over a real socket, and an application behind it."""
    made = Stage(sqlite_url)
    yield made
    made.close()


@pytest.fixture
def look(browser: Browser, stage: Stage) -> Iterator[Callable[..., Page]]:
    """Opens pages; afterwards none of them may have complained, or asked another host."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_page(**options: object) -> Page:
        context = browser.new_context(base_url=stage.address, **options)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: _complain(wrong, message.type, message.text))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: _dismiss(wrong, dialog))
        page.on("request", lambda request: _abroad(wrong, stage.address, request.url))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def _dismiss(wrong: list[str], dialog: Dialog) -> None:
    wrong.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _complain(wrong: list[str], kind: str, text: str) -> None:
    # A browser calls an answer of 4xx an error; tests look at those themselves.
    if kind in {"error", "warning"} and "the server responded with a status of 4" not in text:
        wrong.append(f"{kind}: {text}")


def _abroad(wrong: list[str], address: str, url: str) -> None:
    if not url.startswith((address, "data:", "about:", "blob:")):
        wrong.append(f"asked {url}")
