"""The page in a real browser, against a running server and worker."""

import re

import pytest
from playwright.sync_api import expect

from apps.criticizer.tests.llm_server import Answer, critique, finding
from tests.console.browser.conftest import PATIENCE_MS, WATCH, browser
from tests.deployed.process import eventually

__all__ = ["browser"]

# A browser, a server and a worker: on a busy machine it takes a while until they are up.
pytestmark = pytest.mark.timeout(240)

FILES = """\
diff --git a/new.py b/new.py
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+x = 1
+y = 2
diff --git a/a.txt b/b.txt
similarity index 100%
rename from a.txt
rename to b.txt
diff --git a/gone.sql b/gone.sql
deleted file mode 100644
index 1111111..0000000
--- a/gone.sql
+++ /dev/null
@@ -1 +0,0 @@
--- a comment in SQL
--- plain.txt
+++ plain.txt
@@ -1 +1 @@
-x
+z
"""
"""Four files; one line that was removed looks like the head of a file."""
NASTY = '<img src=x onerror="window.ran = 1"><b>bold</b>'


@pytest.fixture
def page(browser, site):
    """The page, signed in as the operator; afterwards it may have complained of nothing."""
    wrong = []
    context = browser.new_context(
        base_url=site.processes[-1].address,
        extra_http_headers={"Authorization": site.http.headers["authorization"]},
    )
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(WATCH)
    opened = context.new_page()
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto("/reviews")
    expect(opened.locator("#live")).to_have_text("live")
    yield opened
    wrong += opened.evaluate("window.__reports ?? []")
    context.close()
    assert wrong == []


def ask(page, change, *, to="ada@example.org", version=None):
    form = page.locator("#ask-for")
    form.get_by_label("Change").fill(change)
    form.get_by_label("Tell", exact=True).fill(to)
    if version is not None:
        form.get_by_label("Version", exact=True).fill(str(version))
        form.get_by_label("Review again").check()
    form.get_by_role("button", name="Review").click()


def test_a_change_is_asked_for_followed_live_and_shown_beside_what_was_said(site, page):
    site.changes.changes["cl-page"] = site.changes.changes["cl-1"]
    site.llm.hold()
    site.llm.say(Answer(text=critique(finding(message="A loop of nothing."))))

    ask(page, "cl-page", to="ada@example.org, bob@example.org")

    expect(page.locator("#review-facts")).to_contain_text("reading it")
    site.llm.release()
    expect(page.locator("#review-facts")).to_contain_text("done")
    expect(page.locator("#findings")).to_contain_text("A loop of nothing.")
    noted = page.locator("#diff tr", has_text="loops = None").locator("xpath=following::tr[1]")
    expect(noted).to_contain_text("warning: A loop of nothing.")
    expect(page.locator("#told li")).to_have_count(2)
    expect(page.locator("#told")).to_contain_text("a***@example.org")
    expect(page.locator("#told time").first).to_have_text(re.compile(r"\d"))
    page.get_by_role("link", name="All reviews").click()
    expect(page.locator("#rows")).to_contain_text("2 of 2 told")


def test_a_diff_is_shown_file_by_file_and_a_finding_leads_to_its_place(site, page):
    site.changes.changes["cl-files"] = FILES
    about = [finding("gone.sql", None, message="Why?"), finding("new.py", 2, message="Odd.")]
    site.llm.say(Answer(text=critique(*about)))

    ask(page, "cl-files")

    expect(page.locator("#diff-facts")).to_have_text("4 files")
    expect(page.locator("#diff .file")).to_have_text(
        ["new.py new", "b.txt renamed from a.txt", "gone.sql deleted", "plain.txt"]
    )
    expect(page.locator("#diff .removed .code")).to_have_text(["--- a comment in SQL", "-x"])
    expect(page.locator("#diff")).not_to_contain_text("diff --git")
    noted = page.locator("#diff tr", has_text="+y = 2").locator("xpath=following::tr[1]")
    expect(noted).to_contain_text("Odd.")
    page.get_by_role("link", name="gone.sql").click()
    expect(page.locator("#diff .file", has_text="gone.sql")).to_be_in_viewport()


def test_what_a_model_says_is_shown_as_text(site, page):
    site.changes.changes["cl-nasty"] = site.changes.changes["cl-1"]
    site.llm.say(Answer(text=critique(finding(message=NASTY, suggestion=NASTY), summary=NASTY)))

    ask(page, "cl-nasty")

    expect(page.locator("#summary")).to_have_text(NASTY)
    expect(page.locator("#findings pre")).to_have_text(NASTY)
    assert page.evaluate("window.ran") is None


def test_a_version_below_what_is_there_is_refused_in_words_and_a_higher_one_is_made(site, page):
    site.reviewed(changelist_id="cl-again", review_version=2)

    ask(page, "cl-again", version=1)
    wrong = page.locator("#wrong-review_version")
    expect(wrong).to_have_text("Version 2 of this review is there, and 1 is below it.")
    expect(page.get_by_label("Version", exact=True)).to_be_focused()
    ask(page, "cl-again", version=3)

    expect(page.locator("#versions a")).to_have_count(2)
    expect(page.locator("#versions [aria-current]")).to_have_text("Version 3")


def test_the_form_says_beside_each_field_what_to_correct_and_nobody_need_be_told(site, page):
    site.changes.changes["cl-quiet"] = site.changes.changes["cl-1"]

    ask(page, "cl-quiet", to="ada@example.org, bob")
    expect(page.locator("#wrong-recipients")).to_have_text("“bob” is no e-mail address.")
    expect(page.get_by_label("Tell", exact=True)).to_be_focused()
    ask(page, "cl-quiet", to="")

    expect(page.locator("#review-facts")).to_contain_text("done")
    expect(page.locator("#told")).to_have_text("Nobody: none was named.")


def test_the_page_leads_back_to_the_console(page):
    page.get_by_role("link", name="holdfast").click()

    expect(page).to_have_url(re.compile(r"//[^/]+/$"))
    expect(page.get_by_role("navigation", name="Screens")).to_be_attached()


def test_without_scripts_a_review_is_asked_for_and_read(site, browser):
    site.changes.changes["cl-plain"] = site.changes.changes["cl-1"]
    context = browser.new_context(
        base_url=site.processes[-1].address,
        java_script_enabled=False,
        extra_http_headers={"Authorization": site.http.headers["authorization"]},
    )
    context.set_default_timeout(PATIENCE_MS)
    plain = context.new_page()
    plain.goto("/reviews/")
    plain.get_by_role("link", name="reviews, and the form").click()
    plain.get_by_label("Change").fill("cl-plain")
    plain.get_by_role("button", name="Review").click()
    expect(plain.get_by_role("heading", name="cl-plain")).to_be_visible()

    eventually(lambda: "done" in plain.reload().text(), "the review is done")
    expect(plain.locator(".told")).to_have_text("Nobody: none was named.")
    plain.get_by_role("link", name="All reviews").click()
    expect(plain.locator(".reviews li").first).to_contain_text("nobody is told")
    context.close()


def test_a_failure_is_told_with_a_way_to_the_job(site, page):
    site.changes.changes["cl-fails"] = site.changes.changes["cl-1"]
    site.llm.say(Answer(text=None, refusal="No."))

    ask(page, "cl-fails")

    expect(page.locator("#failure")).to_contain_text("CONTENT_POLICY")
    page.get_by_role("link", name="See what happened").click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}"))
