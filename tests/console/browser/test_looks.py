"""What the pages look like: on a phone, in the dark, and whether everybody can read them.

Pictures of every page are left in build/screenshots for people to look at.
"""

import itertools
from pathlib import Path

import pytest
from playwright.sync_api import expect

from holdfast.testing import run_inline
from tests.console.browser.stage import Stage

SHOTS = Path(__file__).parents[3] / "build" / "screenshots"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 860}
WAYS = {"phone": ("light", PHONE), "dark": ("dark", DESK), "light": ("light", DESK)}
OUTLINE = """
() => {
  const used = [...document.querySelectorAll("input, select, textarea, button, a[href]")];
  const named = (each) =>
    each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim();
  return {
    main: document.querySelectorAll("main").length,
    h1: document.querySelectorAll("main h1").length,
    unnamed: used.filter((each) => each.type !== "hidden" && !named(each)).length,
    language: document.documentElement.lang,
  };
}
"""
LEAST_CONTRAST = 4.5
CONTRAST = """
(least) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = rgb(getComputedStyle(each).backgroundColor);
      if (found[3] > 250) return found;
    }
    return [255, 255, 255, 255];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const poor = [];
  for (const element of document.querySelectorAll("main *, .bar *, .screens *")) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!text || element.closest("svg") || !element.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) poor.push(`${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}
"""


def fill(stage: Stage) -> dict[str, str]:
    """Make something for every page, and return where each is found."""
    app = stage.app
    stage.down.set()
    failed = [app.submit("convert", {"n": n}, key=f"document-{n}").id for n in range(4)]
    run_inline(app)
    stage.down.clear()
    app.submit("convert", {"n": 7}, key="document-7")
    run_inline(app)
    app.submit("convert", {"n": 8}, key="document-8", delay=3_600)
    app.upstreams.force_open("gateway", by="ada", reason="maintenance until 9")
    app.deliver("review-1", recipients=["jane@example.test"], message={"text": "hello"})
    app.publish("document.converted", {"n": 7}, aggregate_id="document-7")
    app.dead.triage(failed[0], cause="transient", by="ada", note="the gateway was restarted")
    (group,) = app.dead.groups()
    replay = app.replays.start(
        "GATEWAY_DOWN", group.fingerprint, by="ada", cause="transient", evidence="it is back"
    )
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{failed[0]}",
        "queues": "/queues",
        "workers": "/workers",
        "groups": "/groups",
        "dead letters": "/dead-letters",
        "dead letter": f"/dead-letters/{failed[0]}",
        "replays": "/replays",
        "replay": f"/replays/{replay.id}",
        "replay a group": f"/groups/{group.fingerprint}/replay",
        "upstreams": "/upstreams",
        "upstream": "/upstreams/gateway",
        "deliveries": "/deliveries",
        "outbox": "/outbox",
        "audit": "/audit",
        "not found": "/jobs/nothing",
    }


@pytest.mark.timeout(180)
@pytest.mark.parametrize("ways", [1, pytest.param(len(WAYS), marks=pytest.mark.slow)])
def test_every_page_fits_and_can_be_read(stage: Stage, look, ways: int):
    """In `make test` each page is looked at in one way, the next page in the next."""
    turns = itertools.cycle(WAYS.items())
    pages = fill(stage)
    page = look()
    SHOTS.mkdir(parents=True, exist_ok=True)
    wide, poor, odd = [], [], []

    for name, path in pages.items():
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        if page.evaluate(OUTLINE) != {"main": 1, "h1": 1, "unnamed": 0, "language": "en"}:
            odd.append(name)
        for way, (scheme, size) in itertools.islice(turns, ways):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            page.screenshot(path=SHOTS / f"{name.replace(' ', '-')}-{way}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(f"{name} on {way}")
            poor += [f"{name} on {way}: {each}" for each in page.evaluate(CONTRAST, LEAST_CONTRAST)]

    assert odd == [], "one main part, one heading, and a name for whatever can be used"
    assert wide == []
    assert poor == []


def test_the_navigation_of_a_phone_opens_at_a_touch_without_scripts(stage: Stage, look):
    page = look(viewport=PHONE, has_touch=True, java_script_enabled=False)
    page.goto("/")
    expect(page.get_by_role("link", name="Dead letters")).to_be_hidden()

    page.get_by_role("button", name="Screens").tap()
    page.get_by_role("link", name="Dead letters").tap()

    expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()
