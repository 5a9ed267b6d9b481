"""What an operator who was paged sees first: what is wrong, whose move it is and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from playwright.sync_api import expect

from holdfast.cli.main import program
from holdfast.views.explain.advice import IN_DOUBT
from tests.console.browser.hand import Hand
from tests.console.browser.shop import Shop

MAX_CLICKS = 5
NEEDED, STANDS_STILL = 6, 1
"""The exit codes of the doctor."""


class Expected(NamedTuple):
    """What the overview and the doctor say of one situation."""

    sentence: str
    move: str
    advice: str
    button: str
    exit_code: int
    command: tuple[str, ...]
    """Another command that an operator would look at, and what it answers."""
    answer: str


SITUATIONS = {
    "dead_credential": Expected(
        "3 dead letters: AUTH_DENIED in stage book of invoices, which calls ledger. "
        "Last: HTTP Error 401: Unauthorized",
        "Your move.",
        "Renew the credential or the permission, or correct the address, then replay the group.",
        "Replay…",
        NEEDED,
        ("dead", "groups"),
        "operator",
    ),
    "upstream_down": Expected(
        "4 calls in a row failed, the last with UPSTREAM_5XX: HTTP Error 503: Service Unavailable. "
        "20 jobs wait for it.",
        "The upstream’s move.",
        "See whether it is down, and tell those who run it; jobs go on by themselves.",
        "Look at it",
        NEEDED,
        ("jobs", "list", "--label", "held"),
        "the breaker of upstream ledger is open",
    ),
    "delivery_in_doubt": Expected(
        "is unknown after 1 send",
        "Your move.",
        IN_DOUBT.action,
        "Look at it",
        NEEDED,
        ("deliveries", "list", "--state", "unknown"),
        "NETWORK_TIMEOUT",
    ),
    "paused_queue": Expected(
        "Queue reports is paused with 488 jobs due: by ada,",
        "Your move.",
        "Resume it once its reason is gone.",
        "Resume…",
        NEEDED,
        ("jobs", "list", "--limit", "1"),
        "queue reports is paused by ada",
    ),
    "dead_worker": Expected(
        "1 worker ended without a word: host-7-lost. 1 job was leased by it. "
        "No live worker serves reports: nobody takes over.",
        "Your move.",
        "Start a worker that serves reports, and see in the log why this one ended.",
        "Look at workers",
        STANDS_STILL,
        ("jobs", "list"),
        "ago, no live worker serves queue reports",
    ),
    "stuck_outbox": Expected(
        "2 messages are not going out,",
        "Your move.",
        "Start a relay, and see in its log that it reaches the broker.",
        "Look at the outbox",
        STANDS_STILL,
        ("outbox", "list"),
        "invoice.booked",
    ),
}


@pytest.fixture
def stage(sqlite_url: str) -> Iterator[Shop]:
    made = Shop(sqlite_url)
    yield made
    made.close()


def command(*arguments: str) -> Result:
    """Run a command on the shop's database."""
    return CliRunner().invoke(program, ["-A", "tests.console.browser.shop:opened", *arguments])


@pytest.mark.parametrize("situation", SITUATIONS)
def test_overview_and_doctor_alone_say_whose_move_it_is_and_what_to_do(
    stage: Shop, look, situation: str
):
    expected = SITUATIONS[situation]
    getattr(stage, situation)()
    page = look()
    page.goto("/")

    expect(page.locator("#verdict")).to_contain_text("1 thing needs a person.")
    entry = page.locator("#attention li")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text(expected.sentence)
    expect(entry).to_contain_text(f"{expected.move} {expected.advice}")
    expect(entry.get_by_role("link", name=expected.button)).to_be_visible()
    (found,) = stage.app.attention()
    doctor = command("doctor")
    assert doctor.exit_code == expected.exit_code
    assert expected.sentence in doctor.stdout
    assert f"{found.whose.value}: {expected.advice} {found.action.command}" in doctor.stdout
    assert expected.answer in command(*expected.command).stdout


def replayed(stage: Shop, look, letters: int) -> None:
    stage.dead_credential(letters)
    stage.ledger = "healthy"
    page = look()
    hand = Hand(page)
    page.goto("/")

    hand.click("link", "Replay…")
    expect(page.locator("dialog#ask")).to_contain_text(f"This sends {letters} dead letters")
    expect(page.get_by_label("How do you know that the cause is gone?")).to_be_focused()
    page.keyboard.type("a new key was set, and a test call answers 200")
    hand.click("button", "Start the replay")
    done = f"Done, but 1 job failed again. {letters - 1} succeeded, 1 failed again."
    expect(page.locator("#verdict")).to_contain_text(done, timeout=110_000)
    expect(page.locator("#failures")).to_contain_text("INVALID")
    hand.click("link", "Resolve verified…")
    expect(page.get_by_label("How did it end?")).to_be_focused()
    page.keyboard.type("the key had expired")
    hand.click("button", "Resolve them")
    expect(page.get_by_text(f"{letters - 1} dead letters resolved.")).to_be_visible()
    clicks = hand.clicks
    page.goto("/")

    assert clicks <= MAX_CLICKS
    entry = page.locator("#attention li")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("1 dead letter: INVALID in stage book of invoices")
    expect(entry).to_contain_text("The sender’s move.")
    assert stage.app.store.letters.standing().waiting == 1


def test_some_letters_are_replayed_verified_and_resolved_in_five_clicks(stage: Shop, look):
    replayed(stage, look, 20)


@pytest.mark.slow
def test_where_the_canary_is_the_bad_letter_the_rest_is_one_click_away(stage: Shop, look):
    stage.dead_credential(5, bad=0)
    stage.ledger = "healthy"
    page = look()
    hand = Hand(page)
    page.goto("/")

    hand.click("link", "Replay…")
    page.get_by_label("How do you know that the cause is gone?").fill("a new key was set")
    hand.click("button", "Start the replay")
    stopped = page.locator("#verdict")
    expect(stopped).to_contain_text("It stopped: the canary failed: 1 job failed again.")
    hand.click("button", "Replay the rest")
    expect(page.locator("#verdict")).to_contain_text("Verified: 4 jobs", timeout=30_000)
    hand.click("link", "Resolve verified…")
    page.get_by_label("How did it end?").fill("the key had expired")
    hand.click("button", "Resolve them")

    expect(page.get_by_text("4 dead letters resolved.")).to_be_visible()
    assert hand.clicks <= MAX_CLICKS
    latest = stage.app.replays.latest()[0].replay
    assert (latest.reason, latest.canary) == ("a new key was set", 1)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_five_hundred_letters_are_replayed_verified_and_resolved_in_five_clicks(stage: Shop, look):
    replayed(stage, look, 500)
