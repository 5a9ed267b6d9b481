"""`holdfast dev`, which `make run` starts, as a newcomer meets it."""

import signal
import socket
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.cli.conftest import Command
from tests.cli.surroundings import ROOT, Running, eventually, running
from tests.lab.calls import Reply, call

pytestmark = pytest.mark.timeout(240)

ENDING = "Ending: what runs is finished first. Ctrl-C again hands it back at once.\n"


def post(here: Running, path: str, **fields: str) -> Reply:
    return call(
        f"{here.address}{path}",
        data=urlencode(fields).encode(),
        Content_Type="application/x-www-form-urlencoded",
    )


def breaker(here: Running, name: str) -> str:
    found = here.get("/api/upstreams").document["items"]
    return next(each["breaker"] for each in found if each["upstream"] == name)


def states(here: Running) -> Counter[str]:
    listed = here.get("/api/jobs?pipeline=postcards&limit=200").document["items"]
    return Counter(job["state"] for job in listed)


def test_a_newcomer_sees_the_breaker_hold_the_queue_and_let_go(tmp_path: Path):
    with running(tmp_path, "dev", "--port", "0") as here:
        job_id = here.submit("postcards", {"to": "Ada", "picture": "harbour"})
        eventually(lambda: here.job(job_id)["state"] == "complete", "the first card is posted")

        assert post(here, "/lab/upstreams/printer", behaviour="down").status == 200
        assert post(here, "/lab/cards", count="30", unprintable="yes").status == 200
        eventually(lambda: breaker(here, "printer") == "open", "the breaker opens")
        held = states(here)

        assert held["complete"] == 1
        assert held["queued"] + held["processing"] == 31
        assert "Refuses connections." in here.get("/lab").body.decode()

        post(here, "/lab/upstreams/printer", behaviour="healthy")
        eventually(lambda: states(here)["complete"] == 31, "the queue is let go")
        eventually(lambda: states(here)["failed"] == 1, "the card to nobody has failed")

        assert breaker(here, "printer") == "closed"
        assert here.end(signal.SIGINT) == 0
        assert here.stderr == ENDING


def test_where_the_usual_port_is_taken_a_free_one_is_used_and_told(tmp_path: Path):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which serves as well
        with running(tmp_path, "dev") as here:
            address = here.address
            eventually(lambda: "Ctrl-C" in here.stdout, "the last line is written")

            assert not address.endswith(":8000")
            assert here.get("/livez").status == 200
            assert here.end(signal.SIGINT) == 0
            assert here.stdout.splitlines()[1:] == [
                "",
                f"  Console     {address}/",
                f"  Collabiq    {address}/collabiq/",
                f"  Converter   {address}/convert/",
                f"  Criticizer  {address}/reviews/",
                f"  Grading     {address}/grading/",
                f"  Fault lab   {address}/lab",
                f"  API         {address}/api",
                "",
                "Jobs are kept in sqlite:///holdfast.db.",
                (
                    "Beside the worker run collabiq-inbox, collabiq-letters, collabiq-arrivals, "
                    "grading-relay."
                ),
                "Ctrl-C ends it: what runs is finished first, what waits stays where it is.",
            ]
            assert here.stderr == ENDING


def test_it_listens_on_this_machine_only(holdfast: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_HOST", "0.0.0.0")

    result = holdfast("dev")

    assert result.exit_code == 2
    assert "does not listen on 0.0.0.0; leave HOLDFAST_HOST out" in result.stderr


def test_make_run_starts_it():
    _, _, rest = (ROOT / "Makefile").read_text().partition("\nrun: $(RUN_STAMP)")
    recipe = rest.partition("\n\n")[0]

    assert "/holdfast dev" in recipe
