"""What people do on the page, in a real browser: most of it without a mouse."""

import json

from playwright.sync_api import expect

from apps.collabiq.tests.running import raw_of
from collabiq.stand_ins.world import NOTION_KEY
from holdfast.testing import drain

DROP = """
([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "message/rfc822" }));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    window.dispatchEvent(new DragEvent(kind, { dataTransfer: data, cancelable: true }));
  }
}
"""
HOSTILE = (
    b'From: "<img src=x onerror=alert(1)>" <eve@partner.example>\r\n'
    b"To: collab@example.com\r\nSubject: <script>alert(1)</script> x Orchard Retail\r\n"
    b"Date: Mon, 03 Nov 2025 09:00:00 +0900\r\nMessage-ID: <h@partner.example>\r\n\r\n"
    b"<b onmouseover=alert(1)>Lumenkit</b> and Orchard Retail met on 2025-11-03.\r\n"
)


def test_a_mail_that_is_dropped_is_shown_live_until_it_has_its_row(system, look):
    page = look("#health")
    expect(page.get_by_role("heading", name="Health", exact=True)).to_be_visible()
    page.evaluate(DROP, ["mail.eml", raw_of("english-plain").decode()])
    expect(page.locator("#email-state .badge").first).to_have_text("waiting")
    drain(system.engine)

    expect(page.get_by_role("heading", name="Brightfold x Orchard Retail pilot")).to_be_visible()
    expect(page.locator("#email-state")).to_contain_text("needs review")
    expect(page.locator("#email-text")).to_contain_text("shelf labels")
    expect(page.locator("#email-extraction")).to_contain_text("everything it writes is for review")
    page.get_by_text("Cut away: 1 part").click()
    expect(page.locator(".removed")).to_contain_text("Partnerships Manager")
    expect(page.locator("#email-matches")).to_contain_text("Brightfold (100 %)")
    page.get_by_role("link", name="All mails").click()
    expect(page.locator("#rows .mail-row")).to_have_count(1)
    expect(page.locator("#rows")).to_contain_text("Emma Clarke")


def test_what_a_mail_says_is_shown_and_never_parsed(system, look):
    system.collabiq.emails.receive(HOSTILE, by="eve")
    drain(system.engine)
    page = look()

    page.get_by_role("link", name="<script>alert(1)</script> x Orchard Retail").click()
    expect(page.locator("#email-title")).to_have_text("<script>alert(1)</script> x Orchard Retail")
    expect(page.locator("#email-facts")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#email-text")).to_contain_text("Lumenkit")
    assert page.locator("main script, main img, [onmouseover]").count() == 0


def test_a_correction_is_made_with_the_keyboard_and_its_flaws_are_shown(system, look):
    email_id = system.send("odd-ambiguous-company")
    page = look(f"#email={email_id}")
    page.get_by_role("button", name="Correct").press("Enter")
    expect(page.get_by_label("Person in charge")).to_be_focused()
    page.get_by_label("Person in charge").evaluate("(input) => input.removeAttribute('maxlength')")
    page.keyboard.type("x" * 120)
    page.keyboard.press("Enter")
    expect(page.locator("#wrong-person_in_charge")).to_contain_text("100 are the most")
    page.get_by_label("Person in charge").fill("Emma Clarke")
    page.get_by_label("Start-up in Notion").select_option(index=1)
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#email-state")).to_contain_text("the row is being updated")
    drain(system.engine)

    expect(page.locator("#email-state .badge").first).to_have_text("written")
    expect(page.locator("#email-extraction")).to_contain_text("Emma Clarke")
    expect(page.locator("#email-extraction")).to_contain_text("corrected by")
    assert len(system.rows()) == 1


def test_a_dead_letter_is_mended_and_replayed(system, look):
    system.send("korean-plain")
    system.serving.fault = "invalid"
    failed = system.send("english-plain")
    system.serving.fault = None
    page = look(f"#email={failed}")
    page.get_by_role("link", name="Dead letter", exact=True).click()
    page.get_by_role("button", name="Edit payload").click()
    editor = page.get_by_label("Payload as JSON")
    payload = json.loads(editor.input_value())
    editor.fill("{")
    page.get_by_role("button", name="Save payload").click()
    expect(page.get_by_text("This is no JSON")).to_be_visible()
    editor.fill(json.dumps({**payload, "database_id": "theirs"}))
    page.get_by_role("button", name="Save payload").click()
    expect(page.get_by_text("/database_id: ")).to_be_visible()
    payload["properties"]["요약"] = {"rich_text": [{"text": {"content": "By hand."}}]}
    editor.fill(json.dumps(payload))
    page.get_by_role("button", name="Save payload").click()
    expect(editor).to_be_hidden()
    page.get_by_role("button", name="Replay dlq_").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_text("replaying")).to_be_visible()
    drain(system.engine)

    expect(page.get_by_text("No dead letters")).to_be_visible()
    assert system.collabiq.emails.show(failed)["status"] == "needs_review"


def test_what_is_critical_is_said_on_every_view_with_the_next_step(system, look):
    system.serving.fault = "unauthorized"
    system.send("english-plain")
    page = look()

    for view in ("", "#review", "#letters", "#health", "#rules"):
        page.goto(f"/collabiq/{view}")
        expect(page.locator("#critical")).to_contain_text("Check NOTION_API_KEY")
    page.goto("/collabiq/#health")
    expect(page.get_by_label("Notion", exact=True)).to_contain_text("unavailable")
    expect(page.locator("#settings")).to_contain_text("the environment")
    assert NOTION_KEY not in page.content()
