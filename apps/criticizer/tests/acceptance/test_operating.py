"""The way from a review that failed to one that is resolved: in the console, and by commands."""

import json
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from apps.criticizer.tests.llm_server import Answer
from tests.console.browser.conftest import PATIENCE_MS, browser
from tests.deployed.process import eventually
from tests.warm.process import run

__all__ = ["browser"]

# A browser, a server and a worker: on a busy machine it takes a while until they are up.
pytestmark = pytest.mark.timeout(240)

ADA = "ada@example.org"
REFUSED = Answer(text=None, refusal="No.")


@pytest.fixture
def failed(site_with):
    """A site, and its one review, which the model would not make."""
    site = site_with()
    site.llm.say(REFUSED)
    review = site.reviewed(recipients=[ADA])
    assert review["status"] == "dead_lettered"
    return site, review


def told_once_without_a_second_fetch(site):
    return (site.ended()["status"], len(site.changes.calls), site.mail.told()) == (
        "succeeded",
        1,
        {ADA: 1},
    )


def test_an_operator_clicks_through_every_step_and_past_none(failed, browser):
    site, review = failed
    context = browser.new_context(
        base_url=site.processes[-1].address,
        extra_http_headers={"Authorization": site.http.headers["authorization"]},
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto("/dead-letters")
    page.get_by_role("link", name=review["job_id"][:8]).first.click()
    expect(page.locator("#error")).to_contain_text("CONTENT_POLICY")

    # No way is offered past a step, and who goes there all the same is turned back.
    expect(page.get_by_role("link", name="Replay…")).to_have_count(0)
    page.goto(f"/dead-letters/{review['job_id']}/replay")
    page.get_by_label("Reason").fill("now")
    page.get_by_role("button", name="Replay it").click()
    expect(page.get_by_role("main")).to_contain_text("triage")

    page.goto(f"/dead-letters/{review['job_id']}")
    page.get_by_role("link", name="Triage…").click()
    page.get_by_label("What have you found out?").fill("the model's policy is too strict")
    page.get_by_role("button", name="Triage it").click()
    expect(page.get_by_role("link", name="Replay…")).to_have_count(0)
    page.get_by_role("link", name="Remediate…").click()
    evidence = page.get_by_label("How do you know that the cause is gone?")
    page.get_by_role("button", name="Keep the evidence").click()
    assert evidence.evaluate("field => field.validity.valueMissing")
    evidence.fill("INC-7: another model")
    page.get_by_role("button", name="Keep the evidence").click()
    page.get_by_role("link", name="Replay…").click()
    page.get_by_label("Reason").fill("INC-7")
    page.get_by_role("button", name="Replay it").click()
    page.get_by_role("link", name="Resolve…").click()
    page.get_by_label("How did it end?").fill("the model was changed")
    page.get_by_role("button", name="Resolve it").click()

    expect(page.locator("#steps")).to_contain_text("INC-7: another model")
    eventually(lambda: site.letter(review)["state"] == "resolved", "the letter is resolved")
    context.close()
    assert told_once_without_a_second_fetch(site)


def test_an_operator_takes_every_step_by_commands_and_none_out_of_turn(failed):
    site, review = failed
    job = review["job_id"]

    def dead(verb, *options):
        return run(
            [sys.executable, "-m", "holdfast", "dead", verb, job, *options, "--json"],
            cwd=site.folder,
            env={**site.surroundings, "HOLDFAST_DATABASE_URL": site.variables["DATABASE_URL"]},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    early = dead("replay", "--reason", "now", "--yes")
    triaged = dead("triage", "--cause", "data", "--note", "too strict")
    untried = dead("replay", "--reason", "now", "--yes")
    empty = dead("remediate", "--evidence", "")
    remediated = dead("remediate", "--evidence", "INC-7: another model")
    replayed = dead("replay", "--reason", "INC-7", "--yes")

    assert [each.returncode for each in (early, untried, empty)] == [4, 4, 4]
    assert "triage" in early.stderr
    assert "remediate" in untried.stderr
    assert "evidence" in empty.stderr
    done = (triaged, remediated, replayed)
    assert [each.returncode for each in done] == [0, 0, 0], [each.stderr for each in done]
    assert told_once_without_a_second_fetch(site)
    resolved = dead("resolve", "--note", "the model was changed", "--yes")
    assert resolved.returncode == 0, resolved.stderr
    assert json.loads(dead("show").stdout)["state"] == "resolved"
