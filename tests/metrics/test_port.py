"""The port for metrics of a process that serves nothing else, over a real socket."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from holdfast import Holdfast, UsageError
from holdfast.metrics import Exposition, MetricsPort


@pytest.fixture
def port(tmp_path) -> Iterator[MetricsPort]:
    app = Holdfast(f"sqlite:///{tmp_path / 'holdfast.db'}")
    exposition = Exposition(app)
    served = MetricsPort(exposition, host="127.0.0.1", port=0)
    served.start()
    yield served
    served.close()
    exposition.close()
    app.close()


def test_it_tells_of_the_process_and_under_another_path_of_the_fleet(port):
    process = httpx.get(port.address)
    fleet = httpx.get(f"{port.address}/fleet")

    assert process.status_code == fleet.status_code == 200
    assert process.headers["content-type"].startswith("text/plain")
    assert "holdfast_build_info" in process.text
    assert "holdfast_store_up" not in process.text
    assert "holdfast_store_up 1.0" in fleet.text
    assert "holdfast_build_info" not in fleet.text


def test_whoever_asks_for_openmetrics_gets_it(port):
    answer = httpx.get(port.address, headers={"accept": "application/openmetrics-text"})

    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


def test_anything_else_is_not_there(port):
    assert httpx.get(port.address.replace("/metrics", "/")).status_code == 404
    assert httpx.post(port.address).status_code == 501
    assert httpx.head(port.address).status_code == 200


def test_a_client_that_says_nothing_holds_nobody_up(port):
    host, number = port.address.split("/")[2].split(":")
    silent = [socket.create_connection((host, int(number))) for _ in range(20)]
    try:
        assert httpx.get(port.address).status_code == 200
    finally:
        for each in silent:
            each.close()


def test_a_port_that_is_taken_is_named_with_what_to_do(port):
    taken = int(port.address.split("/")[2].split(":")[1])

    with pytest.raises(UsageError, match="HOLDFAST_METRICS_PORT"):
        MetricsPort(None, host="127.0.0.1", port=taken)
