"""Faults of a stand-in's own, streamed answers, and switches that systems bring to the lab."""

from collections.abc import Iterator
from http.client import IncompleteRead

import pytest
from starlette.testclient import TestClient

from holdfast import Holdfast
from holdfast.bridges.loopback import EXPLANATIONS, LoopbackFaults
from holdfast.cli.processes.site import site_of
from holdfast.config.settings import Settings
from holdfast.errors import InvalidValue, UsageError
from holdfast.lab.behaviour import Behaviour
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import Answer, Built, Call, Parts, StandIn, Switch, System
from holdfast.systems.stand_in import BEHAVIOURS
from tests.api.clients import client_of
from tests.lab.calls import call


def spoken(request: Call) -> Answer:
    if request.path == "/stream":
        return Answer(body=(b"one ", b"two"), content_type="audio/wav", headers={"X-Took": "3"})
    if request.path == "/broken":
        return Answer(body=breaking_off())
    return Answer(headers={"X-Request-Id": "r-1", "Retry-After": "7"})


def breaking_off() -> Iterator[bytes]:
    yield b"half of "
    raise RuntimeError("the recording is cut off")


def no_json(_: Call) -> Answer:
    """Answers with a page instead of JSON.

    As a proxy in between does.
    """
    return Answer(body=b"<html>", content_type="text/html")


SPEECH = System(
    name="speech",
    title="Speech",
    build=lambda _: Parts(),
    stand_ins=[
        StandIn(
            upstream="speech",
            variable="SPEECH_URL",
            answer=spoken,
            faults={"no-json": no_json, "quota": lambda _: Answer(402, b'{"error": "quota"}')},
        )
    ],
)


@pytest.fixture
def stand_ins() -> Iterator[StandIns]:
    with StandIns([SPEECH], {}) as made:
        yield made


@pytest.fixture
def url(stand_ins: StandIns) -> str:
    (server,) = stand_ins
    return server.url


@pytest.fixture
def faults() -> LoopbackFaults:
    return LoopbackFaults()


def broker_switch(faults: LoopbackFaults, name: str = "broker") -> Switch:
    def put(mode: str) -> None:
        faults.mode = mode

    return Switch(name, "Broker", EXPLANATIONS, get=lambda: faults.mode, set=put)


@pytest.fixture
def client(sqlite_url: str, stand_ins: StandIns, faults: LoopbackFaults) -> Iterator[TestClient]:
    built = Built(SPEECH, Parts(switches=[broker_switch(faults)]))
    with (
        Holdfast(sqlite_url) as app,
        client_of(site_of(app, Settings(), built=[built], stand_ins=stand_ins)) as made,
    ):
        yield made


def test_an_answer_has_the_headers_that_it_was_given(url: str):
    reply = call(f"{url}/")

    assert (reply.headers["x-request-id"], reply.headers["retry-after"]) == ("r-1", "7")
    assert (reply.headers["content-length"], reply.document) == ("2", {})


def test_a_body_in_pieces_is_sent_as_it_comes_and_ends_with_the_connection(url: str):
    reply = call(f"{url}/stream")

    assert (reply.status, reply.body) == (200, b"one two")
    assert (reply.headers["content-type"], reply.headers["x-took"]) == ("audio/wav", "3")
    assert "content-length" not in reply.headers


def test_a_body_that_breaks_off_is_no_answer_that_ended_well(url: str, caplog):
    with pytest.raises((ConnectionResetError, IncompleteRead)):
        call(f"{url}/broken")

    assert "the body of an answer broke off" in caplog.text


def test_a_fault_of_its_own_is_answered_while_it_is_on(url: str, stand_ins: StandIns):
    stand_ins.behave("speech", "no-json")
    assert call(url).body == b"<html>"
    stand_ins.behave("speech", "quota")
    assert call(url).status == 402

    stand_ins.behave("speech", Behaviour.HEALTHY)

    assert call(url).document == {}


def test_the_page_shows_the_faults_of_a_stand_in_with_their_explanations(client: TestClient):
    answer = client.post("/lab/upstreams/speech", data={"behaviour": "no-json"})

    assert answer.status_code == 303
    page = client.get("/lab").text
    assert '<button class="switch failing" name="behaviour" value="no-json"' in page
    assert 'aria-pressed="true" title="Answers with a page instead of JSON."' in page
    assert "Answers as the fault quota says." in page
    assert client.post("/lab/upstreams/speech", data={"behaviour": "wild"}).status_code == 422


def test_a_switch_of_a_system_is_shown_and_set(client: TestClient, faults: LoopbackFaults):
    page = client.get("/lab").text
    for mode in EXPLANATIONS:
        assert f'name="value" value="{mode}"' in page
    assert '<h2 id="switch-broker">Broker</h2>' in page
    assert "Hands every message over once." in page

    answer = client.post("/lab/switches/broker", data={"value": "loses_confirms"})

    assert answer.status_code == 303
    assert faults.mode == "loses_confirms"
    assert "Loses confirms.</span>" in client.get("/lab").text


def test_what_a_switch_cannot_be_is_refused(client: TestClient, faults: LoopbackFaults):
    assert client.post("/lab/switches/broker", data={"value": "wild"}).status_code == 422
    assert client.post("/lab/switches/nobody", data={"value": "down"}).status_code == 422
    evil = {"Origin": "https://evil.example"}
    forged = client.post("/lab/switches/broker", data={"value": "down"}, headers=evil)

    assert forged.status_code == 403
    assert faults.mode == "healthy"


def test_two_switches_of_one_name_are_refused(sqlite_url: str, faults: LoopbackFaults):
    built = [
        Built(
            System(name=name, title=name, build=lambda _: Parts()),
            Parts(switches=[broker_switch(faults)]),
        )
        for name in ("one", "two")
    ]
    with (
        Holdfast(sqlite_url) as app,
        StandIns([], {}) as none,
        pytest.raises(UsageError, match="switch called 'broker'"),
    ):
        site_of(app, Settings(), built=built, stand_ins=none)


def test_names_and_values_that_cannot_be_are_refused(faults: LoopbackFaults):
    with pytest.raises(InvalidValue, match="switch"):
        broker_switch(faults, "a/b")
    with pytest.raises(InvalidValue, match="options"):
        Switch("broker", "Broker", {}, get=str, set=print)
    for name in ("a/b", *Behaviour):
        with pytest.raises(InvalidValue, match="fault"):
            StandIn(upstream="speech", variable="X", answer=spoken, faults={name: no_json})
    assert tuple(Behaviour) == BEHAVIOURS
