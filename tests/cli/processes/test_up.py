"""`holdfast up` and `holdfast serve`: what they run, whom they let in, how they end."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from holdfast import Holdfast, JobState
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from holdfast.messaging import OutboxStatus
from tests.bridges.broker import delete, own
from tests.cli.conftest import Command
from tests.cli.sample_app import URL_VARIABLE
from tests.cli.surroundings import PATIENCE_S, eventually, running

pytestmark = pytest.mark.timeout(240)

APP = ("-A", "tests.cli.sample_app:make")
TOKEN = "hf-Zk3mQ0v7XyTn51LrWbcA"
SYSTEM = """
from fastapi import FastAPI
from holdfast import Pipeline
from holdfast.api.access import Reader, guarded_router
from holdfast.systems import Parts, System


def build(environment):
    parcels = Pipeline("parcels")

    @parcels.stage
    def book(job, to: str) -> str:
        return f"{environment['PARCELS_GREETING']} {to}"

    def router(app):
        routes = guarded_router("parcels")

        @routes.get("", name="parcels")
        def listed(who: Reader) -> dict[str, str]:
            return {"asked_by": who.name}

        return routes

    def pages(app):
        site = FastAPI()

        @site.get("/")
        def home() -> str:
            return "Parcels here"

        return site

    return Parts(pipelines=[parcels], router=router, pages=pages)


SYSTEM = System(name="parcels", title="Parcels", build=build)
"""


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A folder in which a package of a third party is installed that brings a system."""
    folder = tmp_path / "installed"
    described = folder / "parcels-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[holdfast.systems]\nparcels = parcels:SYSTEM\n")
    (folder / "parcels.py").write_text(SYSTEM)
    return folder


def test_one_process_takes_jobs_over_http_runs_them_and_drains_on_sigterm(
    database_url: str, app: Holdfast, tmp_path: Path
):
    sign = tmp_path / "running"
    with running(tmp_path, "up", *APP, "--port", "0", **{URL_VARIABLE: database_url}) as here:
        done = here.submit("convert", {"pdf": "a"})
        eventually(lambda: here.job(done)["state"] == "complete", "a job is run")
        slow = here.submit("convert", {"pdf": f"slow:{sign}"})
        stream = urlopen(f"{here.address}/api/stream", timeout=PATIENCE_S)
        received: list[bytes] = []
        reader = Thread(target=lambda: received.append(stream.read()))
        reader.start()
        eventually(sign.exists, "the slow job runs")

        status = here.end(signal.SIGTERM)
        reader.join(PATIENCE_S)

        assert status == 0
        assert app.job(slow).state is JobState.COMPLETE
        assert b"event: bye" in received[0]
        events = [line.get("event") for line in here.logged()]
        assert {"no_credentials", "listening", "started", "draining", "stopped"} <= set(events)
        assert not [line for line in here.logged() if line["logger"].startswith("uvicorn")]
        assert here.stdout == ""


def test_a_second_signal_hands_running_jobs_back_at_once(small_app: Holdfast, tmp_path: Path):
    sign = tmp_path / "running"
    url = small_app.store.url
    options = ("--port", "0", "--grace", "10m")
    with running(tmp_path, "up", *APP, *options, **{URL_VARIABLE: url}) as here:
        job_id = here.submit("convert", {"pdf": f"endless:{sign}"})
        eventually(sign.exists, "the job runs")

        here.process.send_signal(signal.SIGTERM)
        eventually(lambda: "draining" in here.stderr, "the worker drains")
        status = here.end(signal.SIGTERM)

        assert status == 1
        view = small_app.job(job_id)
        assert (view.state, view.job.attempt) == (JobState.QUEUED, 0)


def test_a_system_of_a_third_party_is_found_run_and_mounted(tmp_path: Path, parcels: Path):
    with running(
        *(tmp_path, "up", "--port", "0", "--json", "--database-url", "sqlite:///p.db"),
        PYTHONPATH=str(parcels),
        PARCELS_GREETING="to",
    ) as here:
        job_id = here.submit("parcels", {"to": "Ada"})
        eventually(lambda: here.job(job_id)["state"] == "complete", "its pipeline is run")

        assert here.job(job_id)["result"] == "to Ada"
        assert here.get("/api/parcels").document == {"asked_by": "local"}
        assert here.get("/parcels/").document == "Parcels here"
        assert 'href="/parcels/"' in here.get("/").body.decode()
        assert here.get("/lab").status == 404
        assert json.loads(here.stdout) == {"address": here.address}


def test_the_start_says_which_variables_do_something_unexpected(tmp_path: Path):
    with running(
        *(tmp_path, "up", "--port", "0", "--systems", "converter,criticizer", "--no-worker"),
        *("--database-url", "sqlite:///p.db"),
        RETRY_MAX_ATTEMPTS="3",
        CONVERTER_RETRY_MAX_ATTEMPT="4",
    ) as here:
        assert here.address
        told = {line["event"]: line["message"] for line in here.logged() if "event" in line}

    assert "criticizer uses 3 instead of 5" in told["shared_variable"]
    assert "did you mean CONVERTER_RETRY_MAX_ATTEMPTS?" in told["unknown_variable"]


def test_a_relay_runs_beside_it_where_a_broker_is_named(
    tmp_path: Path, amqp_url: str, small_app: Holdfast
):
    exchange, queue = own("exchange"), Queue(name=own("queue"), types=("#",))
    declaring = RabbitMq(amqp_url, exchange=exchange, queues=[queue])
    assert declaring.ready() is None
    declaring.close()
    message_id = small_app.publish("parcel.booked", {"n": 1})
    with running(
        *(tmp_path, "up", "--no-worker", "--port", "0"),
        HOLDFAST_DATABASE_URL=small_app.store.url,
        HOLDFAST_BROKER_URL=amqp_url,
        HOLDFAST_EXCHANGE=exchange,
    ) as here:
        assert here.get("/livez").status == 200
        published = OutboxStatus.PUBLISHED
        eventually(lambda: small_app.outbox.get(message_id).status is published, "it is published")

        assert here.end() == 0
    delete(
        amqp_url,
        queues=(queue.name, queue.dead_queue),
        exchanges=(exchange, dead_exchange(exchange)),
    )


@pytest.fixture
def small_app(tmp_path: Path) -> Iterator[Holdfast]:
    """An application without pipelines, on SQLite."""
    with Holdfast(f"sqlite:///{tmp_path / 'small.db'}") as made:
        yield made


def test_serve_runs_nothing_and_asks_for_a_token_on_another_address(
    tmp_path: Path, small_app: Holdfast
):
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with running(
        *(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0"),
        HOLDFAST_DATABASE_URL=small_app.store.url,
        HOLDFAST_API_TOKEN=TOKEN,
    ) as here:
        assert [here.get(path).status for path in ("/livez", "/readyz")] == [200, 200]
        assert here.get("/api/jobs").status == 401
        assert here.get("/api/jobs", **bearer).status == 200
        assert here.get("/api/workers", **bearer).document["items"] == []
        assert here.end(signal.SIGINT) == 0
        assert TOKEN not in here.stderr
        assert "no_credentials" not in here.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("up", *APP, "--host", "0.0.0.0"), "does not listen on 0.0.0.0 without credentials"),
        (("serve", *APP, "--host", "0.0.0.0"), "does not listen on 0.0.0.0 without credentials"),
        (("up", "--systems", "nope"), "no installed package brings a system called 'nope'"),
        (("up", *APP, "--systems", "nope"), "give -A or --systems, not both"),
        (("up", *APP, "--port", "99999"), "--port is '99999'; it must be a whole number from 0"),
        (("up", *APP, "--database-url", "sqlite:///x.db"), "leave --database-url out"),
    ],
)
def test_what_cannot_be_run_is_refused_with_whose_move_it_is(
    holdfast: Command,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    complaint: str,
):
    monkeypatch.setenv(URL_VARIABLE, "sqlite:///jobs.db")

    result = holdfast(*arguments)

    assert result.exit_code == 2, result.stderr
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("variable", "value"), [("HOLDFAST_HTTPS", "true"), ("HOLDFAST_HOST_NAMES", "jobs.example.org")]
)
def test_behind_a_proxy_it_does_not_start_without_credentials(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
):
    monkeypatch.setenv(URL_VARIABLE, "sqlite:///jobs.db")
    monkeypatch.setenv(variable, value)

    result = holdfast("up", *APP, "--port", "0")

    assert result.exit_code == 2
    assert f"{variable} says that others are served" in result.stderr


def test_nothing_to_run_is_said(holdfast: Command, no_systems: None):
    result = holdfast("up", "--database-url", "sqlite:///empty.db")

    assert result.exit_code == 2
    assert "there is nothing to run: no system is installed" in result.stderr


@pytest.fixture
def no_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no package brings a system."""
    monkeypatch.setattr("holdfast.systems.finding.GROUP", "holdfast.systems.of.nobody")


def test_a_port_that_is_taken_is_refused(holdfast: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(URL_VARIABLE, "sqlite:///jobs.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        result = holdfast("up", *APP, "--port", port, "--json")

    assert result.exit_code == 2
    told = json.loads(result.stderr.splitlines()[-1])["error"]
    assert f"port {port} of 127.0.0.1 is taken" in told["message"]


def test_a_database_out_of_reach_exits_with_five(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:secret@127.0.0.1:1/none")

    result = holdfast("up", *APP, "--port", "0")

    assert result.exit_code == 5
    assert "secret" not in result.stderr


def test_without_the_extra_it_says_which_and_other_commands_work(tmp_path: Path):
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'starlette', 'uvicorn']));"
        "from holdfast.cli.main import main; main()"
    )
    url = f"sqlite:///{tmp_path / 'jobs.db'}"

    up, version = (
        subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        for arguments in (["up", "--no-worker", "--database-url", url], ["version"])
    )

    assert up.returncode == 2, up.stderr
    assert "pip install 'holdfast[api]'" in up.stderr
    assert version.returncode == 0
