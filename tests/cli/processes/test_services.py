"""Services of a system: they run beside the worker, and start and end with the process."""

import json
import signal
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from holdfast.errors import InvalidValue
from holdfast.messaging import OutboxStatus
from holdfast.systems import Parts
from tests.bridges.broker import delete, drained, own
from tests.cli.surroundings import PATIENCE_S, Running, eventually, running

pytestmark = pytest.mark.timeout(240)

SYSTEM = """
import threading
from pathlib import Path

from holdfast import Pipeline
from holdfast.core.values.outbox import Confirmed
from holdfast.errors import UsageError
from holdfast.systems import Parts, System


class Poller:
    def __init__(self, app, trouble):
        self._app = app
        self._trouble = trouble
        self._stop = threading.Event()

    def run(self, *, handle_signals=True):
        assert not handle_signals
        Path("polling").touch()
        if self._trouble:
            raise UsageError("the queue parcels is made otherwise")
        self._stop.wait()
        Path("ended").touch()
        return 0

    def request_stop(self):
        self._stop.set()


class Labels:
    name = "labels"

    def ready(self):
        return None

    def publish(self, runs, *, timeout_s):
        return {message.id: Confirmed() for run in runs for message in run}

    def close(self):
        pass


def build(environment):
    parcels = Pipeline("parcels")

    @parcels.stage
    def book(job):
        return 1

    trouble = environment.get("PARCELS_TROUBLE", "")
    return Parts(
        pipelines=[parcels],
        services={
            "poller": lambda app: Poller(app, trouble),
            "relay": lambda app: app.relay(Labels(), types=["parcel.label"]),
        },
        message_types=["parcel.label"],
    )


SYSTEM = System(name="parcels", title="Parcels", build=build)
"""


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A folder in which a package is installed that brings a system with services."""
    folder = tmp_path / "installed"
    described = folder / "parcels-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[holdfast.systems]\nparcels = parcels:SYSTEM\n")
    (folder / "parcels.py").write_text(SYSTEM)
    return folder


def up(tmp_path: Path, parcels: Path, *options: str, **variables: str):
    given = ("--systems", "parcels", "--port", "0", "--database-url", "sqlite:///p.db", *options)
    return running(tmp_path, "up", *given, PYTHONPATH=str(parcels), **variables)


def services(here: Running) -> list[str]:
    return [line["service"] for line in here.logged() if line.get("event") == "service"]


def test_services_run_beside_the_worker_and_end_with_the_process(tmp_path: Path, parcels: Path):
    with up(tmp_path, parcels) as here:
        assert here.address
        eventually((tmp_path / "polling").exists, "the service runs")
        with Holdfast(f"sqlite:///{tmp_path / 'p.db'}") as app:
            label = app.publish("parcel.label", 1)
            published = OutboxStatus.PUBLISHED
            eventually(lambda: app.outbox.get(label).status is published, "its relay publishes")

        assert here.end(signal.SIGTERM) == 0
        assert (tmp_path / "ended").exists()
        assert services(here) == ["parcels-poller", "parcels-relay"]


def test_services_can_be_left_out(tmp_path: Path, parcels: Path):
    with up(tmp_path, parcels, "--no-services") as here:
        job_id = here.submit("parcels", None)
        eventually(lambda: here.job(job_id)["state"] == "complete", "the worker runs")

        assert here.end(signal.SIGTERM) == 0
        assert not (tmp_path / "polling").exists()
        assert services(here) == []


def test_a_service_that_cannot_go_on_ends_the_process_with_its_reason(
    tmp_path: Path, parcels: Path
):
    with up(tmp_path, parcels, PARCELS_TROUBLE="yes") as here:
        assert here.process.wait(PATIENCE_S) == 2
        assert "the queue parcels is made otherwise" in here.stderr


def test_development_names_the_services_in_its_first_lines(tmp_path: Path, parcels: Path):
    options = ("--systems", "parcels", "--port", "0")
    with running(tmp_path, "dev", *options, PYTHONPATH=str(parcels)) as here:
        eventually(lambda: "Ctrl-C" in here.stdout, "the last line is written")

        assert "Beside the worker run parcels-poller, parcels-relay." in here.stdout
        eventually((tmp_path / "polling").exists, "the service runs")
        assert here.end(signal.SIGINT) == 0


@pytest.mark.parametrize("options", [(), ("--no-services",)])
def test_the_general_relay_leaves_the_types_of_a_system_alone(
    tmp_path: Path, parcels: Path, amqp_url: str, options: tuple[str, ...]
):
    exchange, queue = own("exchange"), Queue(name=own("queue"), types=("#",))
    declaring = RabbitMq(amqp_url, exchange=exchange, queues=[queue])
    assert declaring.ready() is None
    declaring.close()
    broker = {"HOLDFAST_BROKER_URL": amqp_url, "HOLDFAST_EXCHANGE": exchange}
    with (
        Holdfast(f"sqlite:///{tmp_path / 'p.db'}") as app,
        up(tmp_path, parcels, *options, **broker) as here,
    ):
        assert here.address
        label, booked = app.publish("parcel.label", 1), app.publish("parcel.booked", 2)
        published = OutboxStatus.PUBLISHED
        eventually(lambda: app.outbox.get(booked).status is published, "the relay publishes")
        if not options:
            eventually(lambda: app.outbox.get(label).status is published, "so does the system's")

        assert here.end(signal.SIGTERM) == 0
        kept = OutboxStatus.PENDING if options else published
        assert app.outbox.get(label).status is kept
    taken = [json.loads(message.body) for message in drained(amqp_url, queue.name)]
    assert taken == [2]
    delete(
        amqp_url,
        queues=(queue.name, queue.dead_queue),
        exchanges=(exchange, dead_exchange(exchange)),
    )


def test_what_names_nothing_is_refused():
    with pytest.raises(InvalidValue, match="service"):
        Parts(services={"a/b": lambda _: None})
    with pytest.raises(InvalidValue, match="message_types"):
        Parts(message_types="parcel.label")
