"""What an operator does in a real browser."""

import re

from playwright.sync_api import expect

from tests.console.browser.hand import Hand
from tests.console.browser.stage import Stage

MAX_CLICKS = 5


HEARS_OF_JOBS = """
new EventSource("/api/stream/all").addEventListener("queued", () => {
  document.body.dataset.heard = "yes";
});
"""


def test_whoever_is_paged_gets_to_a_verified_replay_in_five_clicks(stage: Stage, look):
    stage.work()
    ids = stage.dead(6)
    page = look()
    hand = Hand(page)
    page.goto("/")
    expect(page.locator("#verdict")).to_contain_text("1 thing needs a person.")
    expect(page.locator("#attention")).to_contain_text("6 dead letters: GATEWAY_DOWN")

    hand.click("link", "Replay…")
    expect(page.locator("dialog#ask")).to_contain_text("This sends 6 dead letters of 6.")
    hand.write("How do you know that the cause is gone?", "the gateway answers again")
    # By the keyboard; of a class that is our own the cause is chosen already.
    page.locator("dialog#ask select[name=cause]").select_option("transient")
    hand.click("button", "Start the replay")
    # It is followed without a click, and without loading the page again.
    expect(page.locator("#verdict")).to_contain_text("Verified: 6 jobs sent back and complete.")
    verified_after = hand.clicks
    hand.click("link", "Resolve verified…")
    hand.write("How did it end?", "the gateway was restarted")
    hand.click("button", "Resolve them")

    expect(page.get_by_text("6 dead letters resolved.")).to_be_visible()
    assert verified_after == 3
    assert verified_after <= MAX_CLICKS
    assert hand.clicks == 2 * verified_after
    assert {stage.app.dead.get(job).standing.value for job in ids} == {"resolved"}
    reasons = {entry.reason for entry in stage.app.audit(subject_kind="dead_letter")}
    assert {"the gateway answers again", "the gateway was restarted"} <= reasons


def test_pages_follow_what_happens_while_they_are_looked_at(stage: Stage, look):
    page = look()
    # Without its looking now and then, what the page knows it has from the stream.
    page.context.add_init_script("window.setInterval = () => 0;")
    page.goto("/")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.evaluate("window.__same = true")

    stage.app.submit("convert", {"n": 1}, key="watched")
    expect(page.locator("#attention")).to_contain_text("is due, and nobody runs it.")
    stage.work()
    expect(page.locator("#latest")).to_contain_text("complete")
    stage.app.upstreams.force_open("gateway", by="ada", reason="a drill")

    expect(page.locator("#breakers")).to_contain_text("Held open by ada.")
    expect(page.locator("#breakers .breaker.bad svg.circuit")).to_be_visible()
    assert page.evaluate("window.__same"), "the page was not loaded again"


def test_the_live_refresh_can_be_paused_while_reading(stage: Stage, look):
    page = look()
    page.goto("/")
    live = page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")

    live.click()
    expect(live).to_have_text("paused")
    stage.app.submit("convert", {"n": 1}, key="while-reading")
    # The stream of the page has told of the job by the time another one has.
    page.evaluate(HEARS_OF_JOBS)
    stage.app.submit("convert", {"n": 2}, key="while-reading-too")
    expect(page.locator("body")).to_have_attribute("data-heard", "yes")
    expect(page.locator("#latest")).not_to_contain_text("while-reading")

    live.click()
    expect(live).to_have_text("live")
    expect(page.locator("#latest")).to_contain_text("while-reading")


def test_a_page_stays_as_it_is_while_text_on_it_is_selected(stage: Stage, look):
    page = look()
    page.goto("/")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#verdict p'))")

    with page.expect_response(lambda response: response.url == page.url):
        stage.app.submit("convert", {"n": 1}, key="while-selecting")
    expect(page.locator("#attention")).to_have_count(0)
    expect(page.locator("#latest")).not_to_contain_text("while-selecting")
    page.evaluate("getSelection().removeAllRanges()")

    expect(page.locator("#latest")).to_contain_text("while-selecting")
    expect(page.locator("#attention")).to_be_visible()


def test_a_bulk_action_asks_in_a_dialog_and_can_be_left(stage: Stage, look):
    ids = [stage.app.submit("convert", {"n": n}).id for n in range(3)]
    page = look()
    page.goto("/jobs?state=queued")

    page.get_by_role("link", name="Cancel active that match…").click()
    dialog = page.locator("dialog#ask")
    expect(dialog).to_contain_text("This touches 3 active jobs.")
    dialog.get_by_role("link", name="Leave it as it is").click()
    expect(dialog).to_be_hidden()
    assert {stage.app.job(job).state for job in ids} == {"queued"}
    page.get_by_role("link", name="Cancel active that match…").click()
    dialog.get_by_role("button", name="Cancel 3 jobs").click()
    assert dialog.get_by_label("Reason").evaluate("field => field.validity.valueMissing")
    dialog.get_by_label("Reason").fill("sent twice")
    dialog.get_by_role("button", name="Cancel 3 jobs").click()

    expect(page.get_by_text("3 jobs cancelled.")).to_be_visible()
    assert {stage.app.job(job).state for job in ids} == {"cancelled"}


def test_everything_works_without_scripts(stage: Stage, look):
    job = stage.app.submit("convert", {"n": 1}).id
    page = look(java_script_enabled=False)
    page.goto("/")

    page.get_by_role("link", name=re.compile(job[:13])).click()
    page.get_by_role("link", name="Cancel…").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Cancel job")
    page.get_by_label("Reason").fill("not needed")
    page.get_by_role("button", name="Cancel it").click()

    expect(page.get_by_text("The job was cancelled.")).to_be_visible()
    assert stage.app.job(job).state == "cancelled"


def test_everything_can_be_reached_with_keys(stage: Stage, look):
    jobs = [stage.app.submit("convert", {"n": n}).id for n in range(2)]
    page = look()
    page.goto("/")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#page")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("dialog#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{jobs[1]}")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type(jobs[0])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{jobs[0]}")
    page.get_by_role("link", name="Cancel…").focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog#ask").get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")

    expect(page.locator("dialog#ask")).to_be_hidden()
    expect(page.get_by_role("link", name="Cancel…")).to_be_focused()


def test_what_was_begun_to_be_written_is_not_taken_away_by_what_happens(stage: Stage, look):
    stage.app.submit("convert", {"n": 1})
    page = look()
    page.goto("/jobs")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.locator("input[name=key]").fill("half a wo")

    stage.app.submit("convert", {"n": 2})
    expect(page.locator("#jobs h2")).to_have_text("2 jobs")

    expect(page.locator("input[name=key]")).to_have_value("half a wo")


def test_a_document_is_downloaded_and_not_shown(stage: Stage, look):
    """T08: what a job holds may be a page with scripts, and never becomes one."""
    svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    job = stage.app.submit("convert", {"n": 1, "picture": svg}).id
    page = look()
    page.goto(f"/jobs/{job}")

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()

    assert waiting.value.suggested_filename == f"{job}-payload.json"
    answer = page.request.get(f"/jobs/{job}/payload.json")
    assert answer.headers["content-disposition"].startswith("attachment")


def test_signing_in_and_out(stage: Stage, look):
    secret = stage.app.tokens.create("ada", role="operator", by="test")[1]
    page = look()
    page.goto("/queues")

    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/queues")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.get_by_text("ada", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()

    page.wait_for_url("**/login")
    page.goto("/jobs")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
