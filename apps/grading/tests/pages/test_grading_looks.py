"""What the pages look like: on a desk, on a phone, in the dark.

Pictures are left in build/screenshots for people to look at.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from apps.grading.tests.pages.grading_stand_in import (
    ESSAY,
    letter,
    pending,
    result,
    spoken_result,
)
from tests.console.browser.test_looks import CONTRAST, DESK, LEAST_CONTRAST, OUTLINE

pytestmark = pytest.mark.slow
SHOTS = Path(__file__).parents[4] / "build" / "screenshots"
PHONE = {"width": 390, "height": 844}
SMALLEST = {"width": 320, "height": 640}
WAYS = {
    "light": ("light", DESK),
    "phone-dark": ("dark", PHONE),
    "smallest": ("light", SMALLEST),
}
SPOKEN = {
    "skill": "speaking",
    "questionId": "s1-travel",
    "answer": {"audioUrl": "http://elsewhere.example/api/audio/rec-1", "durationSeconds": 42},
}


def fill(api):
    """One submission of each kind."""
    api.add("FAILED", failureReason="CANCELLED")
    api.add("FAILED", isLate=True, lateResult=result())
    api.add("FAILED", **SPOKEN, failureReason="AUDIO_DECODE_ERROR", lastError="no audio stream")
    api.add("REVIEW_REQUIRED")
    api.add("COMPLETED", **SPOKEN, result=spoken_result())
    api.add("COMPLETED")
    api.add("PROCESSING", step="circuit_open", progress=0.3)
    api.add("PROCESSING")
    api.add("PENDING")


def review(api):
    claimed = {
        "claimedBy": "ada",
        "claimedUntil": (datetime.now(UTC) + timedelta(minutes=9)).isoformat(),
    }
    api.reviews = [
        pending("sub-a", "Critical", **claimed),
        pending("sub-b", "High", claimedBy="ben", claimedUntil=claimed["claimedUntil"]),
        pending("sub-c", "Medium"),
    ]


def operate(api):
    api.paused = True
    api.operations = {
        "outbox": {"pending": 12, "oldestSeconds": 184.0},
        "broker": {"connected": False},
        "breakers": [{"name": "llm", "state": "open"}, {"name": "stt", "state": "closed"}],
        "timedOutToday": 3,
        "lateToday": 1,
        "callsInDoubt": 2,
        "costTodayUsd": 1.24,
    }
    api.letters = [
        letter("dead-1"),
        letter("dead-2", failureReason="INVALID_SCHEMA", submissionId=None, canRetry=False),
    ]


KINDS = {
    "empty": ("", "Nothing handed in yet"),
    "practice": ("", "Tourism and towns"),
    "speaking": ("", "Record"),
    "graded": ("#submission=sub-6", "A clear position"),
    "spoken": ("#submission=sub-5", "I usually go"),
    "late": ("#submission=sub-2", "came after the time was up"),
    "under-way": ("#submission=sub-8", "Reading the answer"),
    "review": ("#review=sub-a", "Your grade"),
    "operations": ("#operations", "Dead letters"),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_fits_and_can_be_read(api, look, kind):
    view, awaited = KINDS[kind]
    if kind != "empty":
        fill(api)
        review(api)
    if kind == "operations":
        operate(api)
    page = look(view)
    if kind == "speaking":
        page.get_by_text("Speaking", exact=True).first.click()
    if kind == "practice":
        page.get_by_label("Your answer").fill(ESSAY)
    expect(page.get_by_text(awaited).filter(visible=True).first).to_be_visible()
    SHOTS.mkdir(parents=True, exist_ok=True)
    wide, poor = [], []

    outline = page.evaluate(OUTLINE)
    for way, (scheme, size) in WAYS.items():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        page.screenshot(path=SHOTS / f"grading-{kind}-{way}.png", full_page=True)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(way)
        poor += [f"{way}: {each}" for each in page.evaluate(CONTRAST, LEAST_CONTRAST)]

    assert (outline["main"], outline["unnamed"], outline["language"]) == (1, 0, "en")
    assert wide == []
    assert poor == []


def test_the_way_back_to_the_console_is_shown_to_those_whom_it_lets_in(api, look):
    page = look()
    back = page.get_by_role("link", name="holdfast")
    expect(back).to_be_visible()
    assert back.evaluate("(link) => link.href") == f"{api.address}/"

    api.session["console"] = False
    page.reload()

    expect(page.get_by_label("Your answer")).to_be_visible()
    expect(page.locator("a#console")).to_be_hidden()
