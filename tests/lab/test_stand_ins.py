"""Stand-in upstreams behave as they are told."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from holdfast.errors import UnknownUpstream, UsageError
from holdfast.lab.behaviour import EXPLANATIONS, RETRY_AFTER_S, SLOW_S, TITLES, Behaviour
from holdfast.lab.stand_in_server import StandInServer
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import Answer, Call, Parts, StandIn, System
from holdfast.variables import Variables
from tests.lab.calls import call


def echo(request: Call) -> Answer:
    if request.path == "/broken":
        raise RuntimeError("a mistake in the stand-in")
    told = {"method": request.method, "path": request.path, "body": request.body.decode()}
    return Answer(body=json.dumps(told).encode())


@pytest.fixture
def server() -> Iterator[StandInServer]:
    made = StandInServer(StandIn(upstream="echo", variable="ECHO_URL", answer=echo))
    made.start()
    yield made
    made.close()


def refused(url: str) -> bool:
    try:
        call(url, timeout_s=2)
    except URLError as error:
        return isinstance(error.reason, ConnectionRefusedError)
    return False


def test_a_healthy_stand_in_gives_its_own_answer(server: StandInServer):
    reply = call(f"{server.url}/cards?a=1", data=b"hello")

    assert reply.status == 200
    assert reply.document == {"method": "POST", "path": "/cards?a=1", "body": "hello"}
    assert server.calls == {"200": 1}


def test_a_slow_stand_in_answers_in_the_end(server: StandInServer):
    server.behave(Behaviour.SLOW)

    began = time.monotonic()
    reply = call(server.url)

    assert reply.status == 200
    assert time.monotonic() - began >= SLOW_S - 0.05


def test_a_failing_stand_in_answers_with_every_kind_of_5xx(server: StandInServer):
    server.behave(Behaviour.FAILING)

    assert [call(server.url).status for _ in range(4)] == [500, 502, 503, 500]


def test_a_limiting_stand_in_says_for_how_long(server: StandInServer):
    server.behave(Behaviour.LIMITING)

    reply = call(server.url)

    assert (reply.status, reply.headers["retry-after"]) == (429, str(RETRY_AFTER_S))


def test_a_hanging_stand_in_takes_the_call_and_never_answers(server: StandInServer):
    server.behave(Behaviour.HANGING)

    with pytest.raises(TimeoutError):
        call(server.url, timeout_s=0.3)
    server.behave(Behaviour.HEALTHY)

    assert call(server.url).status == 200


def test_a_stand_in_that_is_down_refuses_connections_and_keeps_its_address(
    server: StandInServer,
):
    address = server.url

    for _ in range(3):
        server.behave(Behaviour.DOWN)
        assert refused(address)
        server.behave(Behaviour.HEALTHY)
        assert call(address).status == 200
    assert server.url == address


def test_nobody_is_given_the_port_of_a_stand_in_that_is_down(server: StandInServer):
    server.behave(Behaviour.DOWN)
    port = int(server.url.rpartition(":")[2])

    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))


def test_calls_under_way_end_as_they_began():
    begun, go = threading.Event(), threading.Event()

    def patient(_: Call) -> Answer:
        begun.set()
        assert go.wait(20)
        return Answer()

    server = StandInServer(StandIn(upstream="patient", variable="URL", answer=patient))
    server.start()
    statuses: list[int] = []
    caller = threading.Thread(target=lambda: statuses.append(call(server.url).status))
    caller.start()
    assert begun.wait(20)

    server.behave(Behaviour.DOWN)
    go.set()
    caller.join(20)

    assert statuses == [200]
    server.close()


def test_a_body_that_is_too_long_is_not_read(server: StandInServer):
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
        length = server.stand_in.max_body_bytes + 1
        client.sendall(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
        client.settimeout(10)

        assert b" 413 " in client.recv(1000)


def test_a_mistake_in_a_stand_in_is_an_answer_of_500_and_logged(
    server: StandInServer, caplog: pytest.LogCaptureFixture
):
    assert call(f"{server.url}/broken").status == 500
    assert "the stand-in for echo failed by itself" in caplog.text


def test_a_closed_stand_in_lets_go_of_its_port(server: StandInServer):
    port = int(server.url.rpartition(":")[2])

    server.close()

    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        assert other.getsockname()[1] == port


def test_every_behaviour_has_a_title_and_an_explanation():
    assert set(TITLES) == set(EXPLANATIONS) == set(Behaviour)


def system(name: str, *, upstream: str = "echo", variable: str = "ECHO_URL") -> System:
    stand_in = StandIn(upstream=upstream, variable=variable, answer=echo)
    return System(name=name, title=name, build=lambda _: Parts(), stand_ins=[stand_in])


def test_each_system_finds_its_own_stand_in_under_a_name_that_others_read_as_well():
    environment: dict[str, str] = {}

    with StandIns([system("a"), system("b", upstream="b")], {}) as stand_ins:
        stand_ins.tell(environment)
        found = [Variables.of(environment, system=name).maybe("ECHO_URL") for name in "abc"]

        assert [call(url).status for url in found[:2] if url] == [200, 200]
    assert found[0] != found[1]
    assert found[2] is None


def test_an_upstream_that_somebody_has_named_needs_no_stand_in():
    given = {"ECHO_URL": "http://127.0.0.1:9"}
    environment = dict(given)

    with StandIns([system("a")], given) as stand_ins:
        stand_ins.tell(environment)

        assert len(stand_ins) == 0
    assert environment == given


def test_two_stand_ins_for_one_upstream_are_refused():
    with pytest.raises(UsageError, match="two systems bring a stand-in for the upstream 'echo'"):
        StandIns([system("a"), system("b")], {})


def test_a_stand_in_is_told_by_the_name_of_its_upstream():
    with StandIns([system("a")], {}) as stand_ins:
        (server,) = stand_ins
        stand_ins.behave("echo", Behaviour.FAILING)

        assert server.behaviour is Behaviour.FAILING
        with pytest.raises(UnknownUpstream, match="known: echo"):
            stand_ins.behave("ekho", Behaviour.FAILING)
