"""What people do with files on the page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

PDF = "%PDF-1.7 a page\n%%EOF"
_CARRIED = """
(files) => {
  const carried = new DataTransfer();
  for (const [name, text] of files) {
    carried.items.add(new File([text], name, { type: "application/pdf" }));
  }
  return carried;
}
"""


_DRAGGED = """
([on, carried]) => ["dragenter", "dragover", "drop"].map((name) => {
  const event = new DragEvent(name, { dataTransfer: carried, bubbles: true, cancelable: true });
  document.querySelector(on).dispatchEvent(event);
  return event.defaultPrevented;
})
"""


def drop(page: Page, *names: str, on: str = "#drop") -> None:
    """Drag files over the page and let go of them; the browser must not open them itself."""
    carried = page.evaluate_handle(_CARRIED, [[name, f"{PDF} {name}"] for name in names])
    _, *prevented = page.evaluate(_DRAGGED, [on, carried])
    assert prevented == [True, True]


def paste(page: Page, *names: str) -> None:
    carried = page.evaluate_handle(_CARRIED, [[name, PDF] for name in names])
    page.evaluate(
        "(carried) => document.body.dispatchEvent("
        "new ClipboardEvent('paste', { clipboardData: carried, bubbles: true, cancelable: true }))",
        carried,
    )


def choose(page: Page, *names: str) -> None:
    page.get_by_label("Choose PDFs").set_input_files(
        [
            {"name": name, "mimeType": "application/pdf", "buffer": f"{PDF} {name}".encode()}
            for name in names
        ]
    )


def row(page: Page, filename: str) -> Locator:
    """The conversion of a file, in the list."""
    return page.locator("#rows tr", has=page.get_by_text(filename, exact=True))


def sending(page: Page, filename: str) -> Locator:
    """The upload of a file."""
    return page.locator("#upload-rows li", has=page.get_by_text(filename, exact=True))
