"""What the pages look like: on a desk, on a phone, in the dark.

Pictures are left in build/screenshots for people to look at.
"""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.browser.test_looks import CONTRAST, DESK, LEAST_CONTRAST, OUTLINE

SHOTS = Path(__file__).parents[4] / "build" / "screenshots"
WAYS = {
    "light": ("light", DESK),
    "phone-dark": ("dark", {"width": 390, "height": 844}),
    "smallest": ("light", {"width": 320, "height": 640}),
}
KINDS = {
    "inbox": ("", "Brightfold"),
    "email": ("#email={review}", "Why somebody should look at it"),
    "failed": ("#email={failed}", "failed while"),
    "review": ("#review", "한빛소프트"),
    "letters": ("#letters={dlq}", "Payload and error"),
    "health": ("#health", "Circuits"),
    "rules": ("#rules", "Fields and columns"),
}


@pytest.mark.timeout(120)
def test_the_pages_fit_and_can_be_read(system, look):
    names = {
        "review": system.send("odd-ambiguous-company"),
        "skipped": system.send("odd-auto-reply"),
        "written": system.send("korean-disclaimer"),
    }
    system.serving.fault = "unauthorized"
    names["failed"] = system.send("english-plain")
    names["dlq"] = system.collabiq.emails.item(names["failed"])["dlq_id"]
    system.serving.fault = None
    system.send("english-nested-multipart", work=False)
    SHOTS.mkdir(parents=True, exist_ok=True)
    wide, poor, outlines = [], [], []

    page = look()
    for kind, (view, awaited) in KINDS.items():
        page.set_viewport_size(DESK)
        page.goto(f"/collabiq/{view.format(**names)}")
        expect(page.get_by_text(awaited).filter(visible=True).first).to_be_visible()
        outlines.append(page.evaluate(OUTLINE))
        for way, (scheme, size) in WAYS.items():
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            page.screenshot(path=SHOTS / f"collabiq-{kind}-{way}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append((kind, way))
            poor += [f"{kind} {way}: {each}" for each in page.evaluate(CONTRAST, LEAST_CONTRAST)]

    assert {(each["main"], each["unnamed"], each["language"]) for each in outlines} == {
        (1, 0, "en")
    }
    assert wide == []
    assert poor == []
