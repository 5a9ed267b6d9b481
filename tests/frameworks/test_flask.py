"""The example on Flask, in this process."""

import pytest

from holdfast.testing import run_inline
from tests.frameworks.examples import imported


def test_routes_make_jobs_once_and_say_what_has_become_of_them(
    monkeypatch: pytest.MonkeyPatch, sqlite_url: str
):
    letters = imported("flask/letters.py", monkeypatch, DATABASE_URL=sqlite_url)
    client = letters.web.test_client()
    headers = {"Idempotency-Key": "17"}

    made = client.post("/letters", data={"to": "Ada"}, headers=headers)
    again = client.post("/letters", data={"to": "Ada"}, headers=headers)
    place = f"/letters/{made.json['id']}"
    waiting = client.get(place).json
    failing = client.post("/letters", data={"to": "nobody"}, headers={"Idempotency-Key": "18"})
    run_inline(letters.jobs)
    known = client.post("/letters?wait=5", data={"to": "Ada"}, headers=headers)
    failed = client.post(
        "/letters?wait=5", data={"to": "nobody"}, headers={"Idempotency-Key": "18"}
    )
    too_long = client.post("/letters?wait=0.01", data={"to": "Grace"})

    assert (made.status_code, failing.status_code, again.json) == (202, 202, made.json)
    assert waiting == {"state": "queued", "text": None}
    assert client.get(place).json == {"state": "complete", "text": "Dear Ada"}
    assert (known.status_code, known.json["text"]) == (200, "Dear Ada")
    assert failed.status_code == 502
    assert "reader" not in failed.json["error"]
    assert too_long.status_code == 202
    assert client.get("/letters/no-such-job").status_code == 404
    letters.jobs.close()
