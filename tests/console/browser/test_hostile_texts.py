"""Whatever a job, a person or a provider wrote, pages show it and never run it."""

import re
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page

from holdfast import Holdfast, Pipeline, Retry
from holdfast.core.job.job import WorkerId
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import Instant
from holdfast.store.contract import WorkerRow
from holdfast.testing import run_inline
from tests.console.browser.payloads import PAYLOADS
from tests.console.browser.stage import Stage
from tests.console.site import HTML

TRAP = "window.pwned = () => { window.__pwned = true; };"
SIXTY = 60
FIELDS = ("key", "owner", "pipeline", "stage", "queue", "error_class", "fingerprint", "before")


def odd_pipeline() -> Pipeline:
    """A pipeline whose stage fails with what it was given, in its message and its type."""
    made = Pipeline("odd", retry=Retry(attempts=1, base=1))

    @made.stage
    def first(job, text: str) -> dict[str, str]:
        return {text: text}

    @made.stage
    def second(job, text: str) -> None:
        raise type(text, (RuntimeError,), {"__module__": text})(text)

    return made


def fill(app: Holdfast) -> list[str]:
    """Write each payload wherever the store takes a text, and return the jobs."""
    jobs = [submitted(app, text) for text in PAYLOADS]
    run_inline(app)
    now = app.clock.now()
    for number, (job, text) in enumerate(zip(jobs, PAYLOADS, strict=True)):
        app.dead.triage(job, cause="data", by=line(text), note=text)
        app.dead.remediate(job, evidence=text, by=line(text))
        written(app, text, number, now)
    (group, *_) = app.dead.groups()
    app.replays.start(
        PAYLOADS[13], group.fingerprint, by=PAYLOADS[0], reason=PAYLOADS[1], confirm_idempotent=True
    )
    return jobs


def submitted(app: Holdfast, text: str) -> str:
    given = {"key": line(text), "owner": line(text), "trace": line(text)}
    return app.submit("odd", {"text": text, text: [text]}, **given).id


def line(text: str) -> str:
    """The text as the engine takes it where it wants one line."""
    return "".join(each if each.isprintable() else " " for each in text)


def written(app: Holdfast, text: str, number: int, now: Instant) -> None:
    worker = WorkerRow(WorkerId(f"w{number} {text}"), text, 1, now, now, "[]", 1, "running")
    app.store.record_worker(worker)
    state = UpstreamState(f"u{number} {text}", forced_by=text, forced_reason=text)
    app.store.upstreams.save(state, now=now)
    app.publish(line(text), {"text": text}, aggregate_id=line(text))
    app.deliver(line(text), recipients=[line(text)], message={"text": text})
    queued = app.submit("odd", {"text": text}, delay=3600).id
    app.cancel(queued, by=line(text), reason=text)


def trapped(page: Page) -> Page:
    """A page on which a script that runs is noticed, and which does not load itself again."""
    page.context.add_init_script(TRAP)
    page.route(
        re.compile(r"/static/console\.js"),
        lambda route: route.fulfill(body="", content_type="text/javascript"),
    )
    return page


def together(page: Page, paths: list[str]) -> None:
    """Have the browser get what many pages say as one page, under the headers they have.

    Sixty pages one after the other would take a minute and show the same.
    """
    answers = [page.request.get(path, headers=HTML) for path in paths]
    assert {answer.status for answer in answers} == {200}
    texts = [answer.text() for answer in answers]
    start, end = texts[0].index("<main"), texts[0].rindex("</main>")
    mains = [text[text.index("<main") : text.rindex("</main>") + len("</main>")] for text in texts]
    body = texts[0][:start] + "\n".join(mains) + texts[0][end + len("</main>") :]
    headers = {
        name: value for name, value in answers[0].headers.items() if name != "content-length"
    }
    page.unroute("**/together")
    page.route("**/together", lambda route: route.fulfill(body=body, headers=headers))


def visited(page: Page, path: str) -> str:
    """Look at a page, and return what a person reads there."""
    answer = page.goto(path, wait_until="domcontentloaded")
    assert answer is not None
    assert answer.status in {200, 422}, path
    ran, reports, text = page.evaluate(
        "[window.__pwned === true, window.__reports, document.body.innerText]"
    )
    assert not ran, f"{path}: a script ran"
    assert reports == [], path
    return text


@pytest.mark.timeout(180)
def test_no_text_that_is_stored_becomes_a_script(stage: Stage, look):
    assert len(set(PAYLOADS)) == SIXTY
    stage.app.add(odd_pipeline())
    jobs = fill(stage.app)
    page = trapped(look())

    lists = ("/", "/jobs", "/groups", "/dead-letters?state=remediated", "/upstreams", "/audit")
    others = ("/workers", "/outbox", "/deliveries", "/queues", "/replays")
    read = [visited(page, path) for path in (*lists, *others)]
    for kind in ("jobs", "dead-letters"):
        together(page, [f"/{kind}/{job}" for job in jobs])
        read.append(visited(page, "/together"))

    whole = " ".join(" ".join(read).split())
    shown = [text for text in PAYLOADS if " ".join(text.split()) in whole]
    assert len(shown) >= SIXTY - 5, set(PAYLOADS) - set(shown)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_no_text_in_an_address_or_a_form_becomes_a_script(stage: Stage, look):
    page = trapped(look())
    job = stage.app.submit("convert", {"n": 1}, delay=3600).id
    page.goto("/jobs")

    for number in range(0, SIXTY, len(FIELDS)):
        asked = dict(zip(FIELDS, PAYLOADS[number:], strict=False))
        visited(page, f"/jobs?{urlencode(asked)}")
        visited(page, f"/dead-letters?{urlencode(asked)}")
    visited(page, f"/audit?kind={quote(PAYLOADS[13])}&subject={quote(PAYLOADS[0])}")
    visited(page, f"/jobs/{job}/cancel")
    page.get_by_label("Reason").fill(PAYLOADS[13])
    page.get_by_role("button", name="Cancel it").click()
    page.wait_for_url("**/jobs/**done=*")

    assert PAYLOADS[13] in page.locator("#timeline").inner_text()
    assert not page.evaluate("window.__pwned === true")
