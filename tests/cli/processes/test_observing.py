"""A worker process that is watched: its metrics, its alerts and its spans, from outside."""

import signal
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from holdfast import Holdfast, JobState, UsageError
from holdfast.cli.processes.observing import configure_metrics, configure_traces
from tests.bridges.fake_receiver import SECRET, fake_receiver
from tests.cli.conftest import Command
from tests.cli.processes.test_worker import PATIENCE_S, Start, eventually, logged, start

__all__ = ["start"]


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Somebody's collector of spans, by OTLP over HTTP."""
    bodies: list[bytes] = []

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Take)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    server.server_close()


def test_a_worker_tells_metrics_alerts_and_spans_as_it_is_told_to(
    start: Start,
    app: Holdfast,
    tmp_path: Path,
    collector: tuple[str, list[bytes]],
):
    endpoint, bodies = collector
    api, ledger = fake_receiver()
    with api:
        worker = start(
            "--metrics-port",
            "0",
            HOLDFAST_ALERT_WEBHOOK_URL=f"{api.url}/hooks",
            HOLDFAST_ALERT_WEBHOOK_SECRET=SECRET,
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_METRICS_EXPORTER="otlp",
        )
        address = eventually(
            lambda: next(
                (line["address"] for line in logged(tmp_path) if line.get("event") == "metrics"),
                None,
            ),
            "where its metrics are",
        )
        failed = app.submit("convert", {"pdf": "broken"}).wait(PATIENCE_S)
        eventually(lambda: ledger.handled, "the alert")
        own = httpx.get(address).text
        fleet = eventually(
            lambda: (
                text
                if 'jobs_failed_total{error_code="BUG",pipeline="convert"} 1.0'
                in (text := httpx.get(f"{address}/fleet").text)
                else None
            ),
            "the failure in the figures of the fleet",
        )
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=PATIENCE_S)

    assert failed.state is JobState.FAILED
    assert 'holdfast_worker_slots{lane="' in own
    assert "holdfast_store_up 1.0" in fleet
    assert ledger.handled[0]["data"]["facts"]["job_id"] == failed.id
    assert any(b"convert." in body for body in bodies)
    assert worker.returncode == 0


def test_a_webhook_without_a_secret_is_refused_with_what_to_do(
    on_app: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_ALERT_WEBHOOK_URL", "https://example.org/hooks")
    result = on_app("worker")

    assert result.exit_code == 2
    assert "HOLDFAST_ALERT_WEBHOOK_SECRET" in result.stderr


def test_a_port_that_is_taken_is_refused_with_what_to_do(on_app: Command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = on_app("worker", "--metrics-port", taken.getsockname()[1])

    assert result.exit_code == 2
    assert "--metrics-port" in result.stderr


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nobody_is_traced_who_did_not_ask_for_it(environment: dict[str, str]):
    from holdfast.runtime import tracing  # noqa: PLC0415 - of this test alone

    configure_traces(environment)()

    assert not tracing.enabled()


def test_an_exporter_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(UsageError, match="otlp, console, none"):
        configure_traces({"OTEL_TRACES_EXPORTER": "zipkin"})
    with Holdfast("sqlite://:memory:") as app:
        with pytest.raises(UsageError, match="otlp, console, none"):
            configure_metrics(app, {"OTEL_METRICS_EXPORTER": "prometheus"}, of_fleet=True)
        configure_metrics(app, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, of_fleet=True)()
