"""What operators do on the console: a case for each of its actions."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.job import JobState
from holdfast.core.upstream.upstream import Gate
from holdfast.testing import drain
from tests.console.site import Filled, Site, at

WHY = "because the test says so"


class Case(NamedTuple):
    """An action: where it stands, what it needs first, what is said, and what follows."""

    path: str
    parts: Callable[[Site, Filled], dict[str, str]]
    touches: str
    follows: Callable[[Site, Filled], bool]
    before: Callable[[Site, Filled], object] = lambda _site, _filled: None
    field: str = "reason"
    query: str = ""
    action: str = ""
    """What the audit log calls it."""


def triaged(site: Site, filled: Filled) -> None:
    site.app.dead.triage(filled.failed, cause="data", by="ada")


def remediated(site: Site, filled: Filled) -> None:
    triaged(site, filled)
    site.app.dead.remediate(filled.failed, evidence="it is back", by="ada")


def verified(site: Site, filled: Filled) -> None:
    remediated(site, filled)
    site.app.dead.replay(filled.failed, by="ada")
    drain(site.app)


def started(site: Site, filled: Filled) -> str:
    return site.app.replays.start(
        "one", filled.fingerprint, by="ada", cause="data", evidence="it is back"
    ).id


def run(site: Site, filled: Filled) -> None:
    replay = started(site, filled)
    site.app.replays.advance(replay)
    drain(site.app)
    site.app.replays.advance(replay)


def broken_off(site: Site, filled: Filled) -> None:
    site.app.replays.cancel(started(site, filled), by="ada")


def latest_replay(site: Site) -> str:
    return site.app.replays.latest()[0].id


def unknown(site: Site, filled: Filled) -> None:
    site.mailbox.next.append("accepted, no answer")
    drain(site.app)
    assert site.app.deliveries.get(filled.delivery).state is DeliveryState.UNKNOWN


def state(site: Site, job_id: str) -> JobState:
    return site.app.job(job_id).state


def standing(site: Site, filled: Filled) -> str:
    return site.app.dead.get(filled.failed).standing.value


def gate(site: Site) -> tuple[Gate, Gate | None]:
    found = site.app.upstreams.show("gateway").view.state
    return found.gate, found.forced


def letter(_site: Site, filled: Filled) -> dict[str, str]:
    return {"letter_id": filled.failed}


def upstream(_site: Site, _filled: Filled) -> dict[str, str]:
    return {"name": "gateway"}


def queue(_site: Site, _filled: Filled) -> dict[str, str]:
    return {"queue": "work"}


def delivery(_site: Site, filled: Filled) -> dict[str, str]:
    return {"delivery_id": filled.delivery}


def replay(site: Site, _filled: Filled) -> dict[str, str]:
    return {"replay_id": latest_replay(site)}


CASES = [
    Case(
        "/jobs/bulk/retry",
        lambda *_: {},
        "This touches 1 failed job.",
        lambda site, filled: state(site, filled.failed) is JobState.QUEUED,
        query="?pipeline=p",
        action="replayed",
    ),
    Case(
        "/jobs/bulk/cancel",
        lambda *_: {},
        "This touches 1 active job.",
        lambda site, filled: state(site, filled.queued) is JobState.CANCELLED,
        query="?pipeline=p",
        action="cancelled",
    ),
    Case(
        "/jobs/{job_id}/retry",
        lambda _, filled: {"job_id": filled.failed},
        "This touches 1 job.",
        lambda site, filled: state(site, filled.failed) is JobState.QUEUED,
        action="replayed",
    ),
    Case(
        "/jobs/{job_id}/cancel",
        lambda _, filled: {"job_id": filled.queued},
        "This touches 1 job.",
        lambda site, filled: state(site, filled.queued) is JobState.CANCELLED,
        action="cancelled",
    ),
    Case(
        "/queues/{queue}/pause",
        queue,
        "This touches 1 queued job.",
        lambda site, _: site.app.queues()[0].paused_at is not None,
        action="paused",
    ),
    Case(
        "/queues/{queue}/resume",
        queue,
        "This touches 1 queued job.",
        lambda site, _: site.app.queues()[0].paused_at is None,
        before=lambda site, _: site.app.pause_queue("work", by="ada"),
        action="resumed",
    ),
    Case(
        "/workers/{worker_id}/drain",
        lambda _, filled: {"worker_id": filled.worker},
        "This touches 1 worker, which runs 0 jobs.",
        lambda site, _: site.app.workers()[0].drain_asked_at is not None,
        action="drained",
    ),
    Case(
        "/groups/{fingerprint}/replay",
        lambda _, filled: {"fingerprint": filled.fingerprint},
        "This sends 1 dead letter of 1.",
        lambda site, _: len(site.app.replays.latest()) == 1,
        field="evidence",
        action="planned",
    ),
    Case(
        "/dead-letters/{letter_id}/triage",
        letter,
        "This touches 1 dead letter.",
        lambda site, filled: standing(site, filled) == "triaged",
        action="triaged",
    ),
    Case(
        "/dead-letters/{letter_id}/remediate",
        letter,
        "This touches 1 dead letter.",
        lambda site, filled: standing(site, filled) == "remediated",
        before=triaged,
        field="evidence",
        action="remediated",
    ),
    Case(
        "/dead-letters/{letter_id}/replay",
        letter,
        "This touches 1 dead letter.",
        lambda site, filled: standing(site, filled) == "replaying",
        before=remediated,
        action="replayed",
    ),
    Case(
        "/dead-letters/{letter_id}/resolve",
        letter,
        "This touches 1 dead letter.",
        lambda site, filled: standing(site, filled) == "resolved",
        before=verified,
        field="note",
        action="resolved",
    ),
    Case(
        "/dead-letters/{letter_id}/dismiss",
        letter,
        "This touches 1 dead letter.",
        lambda site, filled: site.app.dead.get(filled.failed).dismissed,
        field="note",
        action="dismissed",
    ),
    Case(
        "/replays/{replay_id}/cancel",
        replay,
        "This keeps back 1 dead letter.",
        lambda site, _: site.app.replays.show(latest_replay(site)).state == "cancelled",
        before=started,
        action="cancelled",
    ),
    Case(
        "/replays/{replay_id}/rest",
        replay,
        "This sends 1 dead letter.",
        lambda site, _: len(site.app.replays.latest()) == 2,
        before=broken_off,
        action="planned",
    ),
    Case(
        "/replays/{replay_id}/resolve",
        replay,
        "This closes 1 dead letter.",
        lambda site, filled: standing(site, filled) == "resolved",
        before=run,
        field="note",
        action="resolved",
    ),
    Case(
        "/upstreams/{name}/open",
        upstream,
        "This touches 1 upstream and 0 held jobs.",
        lambda site, _: gate(site)[1] is Gate.OPEN,
        action="forced open",
    ),
    Case(
        "/upstreams/{name}/close",
        upstream,
        "This touches 1 upstream and 0 held jobs.",
        lambda site, _: gate(site)[1] is Gate.CLOSED,
        action="forced closed",
    ),
    Case(
        "/upstreams/{name}/reset",
        upstream,
        "This touches 1 upstream and 0 held jobs.",
        lambda site, _: gate(site) == (Gate.CLOSED, None),
        before=lambda site, _: site.open_breaker(),
        action="reset",
    ),
    Case(
        "/upstreams/{name}/probe",
        upstream,
        "This touches 1 upstream and 0 held jobs.",
        lambda site, _: site.app.upstreams.show("gateway").view.until is None,
        before=lambda site, _: site.open_breaker(),
        action="probed",
    ),
    Case(
        "/deliveries/{delivery_id}/sent",
        delivery,
        "This touches 1 delivery",
        lambda site, filled: site.app.deliveries.get(filled.delivery).state == "sent",
        before=unknown,
        action="sent",
    ),
    Case(
        "/deliveries/{delivery_id}/resend",
        delivery,
        "This touches 1 delivery",
        lambda site, filled: site.app.deliveries.get(filled.delivery).state == "intent",
        before=unknown,
        action="resend",
    ),
    Case(
        "/deliveries/{delivery_id}/fail",
        delivery,
        "This touches 1 delivery",
        lambda site, filled: site.app.deliveries.get(filled.delivery).state == "failed",
        before=unknown,
        action="fail",
    ),
    Case(
        "/outbox/{message_id}/retry",
        lambda _, filled: {"message_id": filled.message},
        "This touches 1 message.",
        lambda site, filled: site.app.outbox.get(filled.message).status == "pending",
        action="retried",
    ),
]
OPEN_TO_ALL = {"/login", "/logout"}


def address(site: Site, filled: Filled, case: Case) -> str:
    return at(case.path, **case.parts(site, filled)) + case.query


def named(case: Case) -> str:
    return case.path.strip("/").replace("{", "").replace("}", "").replace("/", " ")
