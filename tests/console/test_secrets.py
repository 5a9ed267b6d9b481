"""Nobody is shown a secret, whatever carries it: by no page, list, table or figure."""

from __future__ import annotations

import json
from zlib import crc32

import pytest

from holdfast import GiveUp, Pipeline, RetryLater
from holdfast.dead_letters import LetterFilter
from holdfast.secrecy import OF_THIS_PROCESS
from holdfast.testing import drain
from tests.console.site import Site, at
from tests.store.conftest import by_hand

UNASKED = {"/api/stream", "/api/stream/all", "/search"}
"""What never ends, or leads elsewhere."""
MANY_PATHS = 70
WHERE_IT_FAILED = ("/jobs/{job_id}", "/api/jobs/{job_id}", "/api/jobs/{job_id}/events")


@pytest.fixture
def planted(request: pytest.FixtureRequest) -> str:
    """A text that looks like nothing in particular: secret only because somebody says so.

    A process forgets no secret, so that each test has one of its own.
    """
    mark = format(crc32(request.node.nodeid.encode()), "08x")
    made = f"quiet-harbour-7Qx2-{mark}-Pw4"
    assert OF_THIS_PROCESS.text(made) == made
    return made


def leaky() -> Pipeline:
    """A pipeline that repeats what it was given wherever a stage can."""
    made = Pipeline("leaky", queue="work")
    begun: set[str] = set()

    @made.stage
    def hear(job, secret: str) -> dict[str, str]:
        if job.id not in begun:
            begun.add(job.id)
            raise RetryLater(after=1, reason=f"not with {secret} yet")
        return {"said": secret, secret: "said"}

    @made.stage
    def tell(job, secret: str, ends: str) -> dict[str, str]:
        if ends == "badly":
            raise GiveUp("REFUSED", f"not with {secret}") from ValueError(secret)
        return {"said": secret, secret: "said"}

    return made


def fill(site: Site, text: str, database_url: str) -> dict[str, str]:
    """Write the text wherever more than a name is written; return what paths call what it is in."""
    app = site.app
    app.add(leaky())
    done = app.submit("leaky", {"secret": text, "ends": "well"}, trace=f"trace {text}").id
    died = app.submit("leaky", {"secret": text, "ends": "badly", text: [text]}).id
    for _ in range(3):
        drain(app)
        site.clock.advance(60)
    assert (app.job(done).state, app.job(died).state) == ("complete", "failed")
    late = json.dumps(text)
    by_hand(database_url, f"update {{job}} set late_result = '{late}' where id = '{died}'")
    app.dead.triage(died, cause="data", by="ada", note=f"note {text}")
    app.dead.remediate(died, evidence=f"evidence {text}", by="ada")
    terms = {"by": "ada", "reason": f"reason {text}"}
    replay = app.replays.start(f"replay {text}", LetterFilter(), confirm_idempotent=True, **terms)
    (delivery,) = app.deliver(
        f"subject {text}", recipients=["jane@example.test"], message={"text": text}
    )
    message = app.publish("told", {"text": text, text: 1})
    app.pause_queue("work", **terms)
    app.upstreams.force_open("gateway", **terms)
    (group,) = app.dead.groups()
    return {
        "done": done,
        "job_id": died,
        "letter_id": died,
        "replay_id": replay.id,
        "delivery_id": delivery.id,
        "message_id": message,
        "fingerprint": group.fingerprint,
        "worker_id": site.worker(),
        "queue": "work",
        "name": "gateway",
    }


def paths(site: Site, names: dict[str, str]) -> list[str]:
    """Every page and everything else that can be read, about what there is."""
    found = set(site.console_routes("GET")) | {
        path for path, operations in site.api.openapi()["paths"].items() if "get" in operations
    }
    filled = {at(path, **names) for path in found - UNASKED}
    filled |= {at(path, job_id=names["done"]) for path in found if "{job_id}" in path}
    return sorted(path for path in filled if "{" not in path)


def test_a_secret_is_shown_by_nothing_that_can_be_read(site: Site, planted: str, database_url: str):
    site.app.add_secrets([planted])
    names = fill(site, planted, database_url)
    client = site.local()

    answers = {path: client.get(path) for path in paths(site, names)}

    assert {path for path, answer in answers.items() if planted in answer.text} == set()
    hidden = [path for path, answer in answers.items() if "[redacted:known" in answer.text]
    for path in ("/api/jobs/{done}", "/api/jobs/{done}/results", "/jobs/{done}/result.json"):
        assert at(path, **names) in hidden
    for path in ("/api/outbox/{message_id}", "/deliveries/{delivery_id}", "/api/audit", "/audit"):
        assert at(path, **names) in hidden
    assert len(answers) > MANY_PATHS


def test_what_became_a_secret_later_is_not_shown_where_a_job_failed(
    site: Site, planted: str, database_url: str
):
    names = fill(site, planted, database_url)
    client = site.local()
    where = [at(path, **names) for path in WHERE_IT_FAILED]
    before = [path for path in where if planted in client.get(path).text]

    site.app.add_secrets([planted])

    assert before == where
    assert [path for path in where if planted in client.get(path).text] == []


def test_no_problem_repeats_a_secret(small_site: Site, planted: str):
    small_site.app.add_secrets([planted])
    client = small_site.local()

    def submitted(number: int):
        body = {"pipeline": "p", "payload": {"n": number}}
        return client.post("/api/jobs", json=body, headers={"Idempotency-Key": planted})

    first, second = submitted(1), submitted(2)

    assert (first.status_code, second.json()["code"]) == (201, "key_conflict")
    assert planted not in second.text
    assert "[redacted:known" in second.json()["detail"]
