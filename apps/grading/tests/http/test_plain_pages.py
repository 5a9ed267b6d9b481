"""Grading without scripts: a form, and pages to be loaded again."""

from __future__ import annotations

import re

from apps.grading.tests.sides import ESSAY, completed, failed
from holdfast.testing import run_inline

PAGES = "/api/submission-pages"


def key_of(page):
    return re.search(r'name="key" value="([^"]+)"', page.text)[1]


def test_an_essay_is_handed_in_by_a_form_and_its_result_read(visit, main):
    ada = visit()
    form = ada.get(PAGES, params={"question": "w2-tourism"})
    given = {"question": "w2-tourism", "text": ESSAY.replace(". ", ".\r\n"), "key": key_of(form)}
    sent, again = ada.post(PAGES, data=given), ada.post(PAGES, data=given)
    assert sent.history[0].status_code == 303
    assert again.url == sent.url
    assert "Waiting" in sent.text
    run_inline(main.app)
    submission = sent.url.path.rpartition("/")[2]
    request = main.request_of(submission)
    assert "\r" not in request["payload"]["text"]
    main.take(completed(request))

    page, listed = ada.get(str(sent.url)), ada.get(PAGES)

    assert "6.5 of 10, B2" in page.text
    assert "taskFulfillment" in page.text
    assert listed.text.count(submission) == 1
    assert "<script" not in page.text
    assert "<script" not in listed.text


def test_what_is_wrong_is_said_and_what_was_written_stays(visit):
    ada = visit()
    refused = ada.post(PAGES, data={"question": "w2-tourism", "text": "  ", "key": "k"})
    hostile = ada.post(PAGES, data={"question": "none", "text": "<img src=x>", "key": "k"})

    assert refused.status_code == hostile.status_code == 400
    assert "Your answer is empty." in refused.text
    assert "&lt;img src=x&gt;" in hostile.text
    assert "<img src=x>" not in hostile.text


def test_a_failure_says_why(visit, main):
    ada = visit()
    sent = ada.post(PAGES, data={"question": "w2-tourism", "text": ESSAY, "key": "k"})
    run_inline(main.app)
    main.take(failed(main.request_of(sent.url.path.rpartition("/")[2]), "CONTENT_POLICY"))

    page = ada.get(str(sent.url))

    assert "declined this content" in page.text
    assert visit().get(str(sent.url)).status_code == 403
