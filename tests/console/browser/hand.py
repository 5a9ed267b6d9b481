"""A person at a browser."""

from __future__ import annotations

from playwright.sync_api import Page

COUNTS_CLICKS = """
document.addEventListener("click", (event) => {
  // What a key or a script sets off is no click of a person.
  if (event.isTrusted && event.detail > 0)
    sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
}, true);
"""


class Hand:
    """A person at a browser, which itself counts how often they click."""

    def __init__(self, page: Page) -> None:
        page.add_init_script(COUNTS_CLICKS)
        self.page = page

    @property
    def clicks(self) -> int:
        return int(self.page.evaluate("sessionStorage.getItem('clicks')") or 0)

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name).first.click()

    def write(self, label: str, text: str) -> None:
        """Click into a field, and type."""
        self.page.get_by_label(label).click()
        self.page.keyboard.type(text)
