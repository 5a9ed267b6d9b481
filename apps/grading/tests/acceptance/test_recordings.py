"""Recordings, from the upload to the score, where main and its graders share no disk."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from apps.grading.tests.acceptance.fleet import Fleet
from apps.grading.tests.brokered import broker_config, grader_running
from apps.grading.tests.recordings import SHORT_SPEECH, tone, write_wav
from apps.grading.tests.running import wait_for
from grading.config import GradingConfig
from grading.grader.opening import open_tools
from holdfast.testing.servers.ports import LOOPBACK, free_port
from tests.bridges.broker import drained
from tests.deployed.process import OPERATOR

pytestmark = pytest.mark.timeout(400)
LIMIT_S = 120.0


class Site(NamedTuple):
    """Main in a process of its own, and somebody who uses it."""

    config: GradingConfig
    fleet: Fleet
    http: httpx2.Client
    operator: httpx2.Client

    def hand_in(self, recording: Path) -> tuple[str, str]:
        """Send a recording and hand it in; return the submission and the recording's hash."""
        sent = self.http.post(
            "/api/audio", files={"file": (recording.name, recording.read_bytes())}
        )
        assert sent.status_code == 201, sent.text
        kept = sent.json()
        body = {
            "skill": "speaking",
            "questionId": "s1-travel",
            "answer": {
                "audioUrl": kept["audioUrl"],
                "durationSeconds": kept["durationSeconds"],
            },
        }
        made = self.http.post("/api/submissions", json=body)
        assert made.status_code == 201, made.text
        return made.json()["submissionId"], kept["sha256"]

    def ended(self, submission_id: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found = self.http.get(f"/api/submissions/{submission_id}").json()
            return found if found["status"] in ("COMPLETED", "FAILED") else None

        return wait_for(look, limit_s=LIMIT_S, what=f"the end of {submission_id}")

    def kept_file(self, sha256: str) -> Path:
        return self.fleet.recordings / sha256[:2] / sha256


@pytest.fixture
def site(
    postgres_url: str, amqp_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Site]:
    address = f"http://{LOOPBACK}:{free_port()}"
    config = broker_config(
        amqp_url,
        tmp_path,
        runner=getattr(request, "param", "worker"),
        lease_s=30.0,
        public_url=address,
    )
    with ExitStack() as opened:
        fleet = opened.enter_context(Fleet(config, postgres_url, None, tmp_path))
        fleet.front(address=address).ready()
        http = opened.enter_context(httpx2.Client(base_url=address, timeout=60))
        bearer = {"Authorization": f"Bearer {OPERATOR}"}
        operator = httpx2.Client(base_url=address, timeout=60, headers=bearer)
        yield Site(config, fleet, http, opened.enter_context(operator))


def test_recordings_that_vanished_or_changed_fail_for_good_and_others_are_graded(
    site: Site, postgres_url: str, amqp_url: str, tmp_path: Path
):
    gone, gone_hash = site.hand_in(write_wav(tmp_path / "gone.wav", tone(2)))
    changed, changed_hash = site.hand_in(write_wav(tmp_path / "changed.wav", tone(3)))
    good, _ = site.hand_in(SHORT_SPEECH)
    site.kept_file(gone_hash).unlink()
    write_wav(site.kept_file(changed_hash), tone(2, hz=880))
    work = site.config.audio_dir / "work"
    with grader_running(postgres_url, site.config, open_tools(site.config)) as grader:
        failures = [site.ended(each) for each in (gone, changed)]
        graded = site.ended(good)
        wait_for(lambda: not grader.outbox.standing().pending, what="everything is published")
        waiting = site.operator.get("/api/grading/dlq").json()["items"]
    records = [
        json.loads(each.body)
        for each in drained(amqp_url, f"{site.config.queue_prefix}grading.dlq")
    ]

    for failed in failures:
        assert (failed["status"], failed["failureReason"]) == ("FAILED", "AUDIO_UNAVAILABLE")
        assert failed["attemptsMade"] == 1
    assert {each["submissionId"] for each in waiting} == {gone, changed}
    assert {each["submissionId"] for each in records} == {gone, changed}
    assert {each["failureReason"] for each in records} == {"AUDIO_UNAVAILABLE"}
    assert graded["status"] == "COMPLETED"
    assert len(graded["result"]["transcript"].split()) > 10
    assert [path.name for path in work.glob("*") if any(path.iterdir())] == []


@pytest.mark.slow
@pytest.mark.parametrize("site", ["celery"], indirect=True)
def test_a_recording_is_graded_by_a_celery_fleet_that_fetches_it(site: Site):
    site.fleet.service()
    site.fleet.worker()
    submission_id, _ = site.hand_in(SHORT_SPEECH)
    graded = site.ended(submission_id)
    events = site.http.get(f"/api/submissions/{submission_id}/events").json()["items"]

    assert (graded["status"], graded["failureReason"]) == ("COMPLETED", None)
    assert len(graded["result"]["transcript"].split()) > 10
    assert {"transcribing", "analyzing", "completed"} <= {each["event"] for each in events}
