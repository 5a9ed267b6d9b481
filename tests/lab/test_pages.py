"""The page of the lab: switches, work to send, and who may use them."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from holdfast import Holdfast, JobFilter, JobState
from holdfast.api import ApiOptions, create_api
from holdfast.console import mount_console
from holdfast.core.values.role import Role
from holdfast.lab import postcards
from holdfast.lab.behaviour import TITLES, Behaviour
from holdfast.lab.pages import MAX_CARDS, mount_lab
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import Answer, Parts, StandIn, System, Table, build
from tests.api.clients import client_of


@pytest.fixture
def stand_ins() -> Iterator[StandIns]:
    with StandIns([postcards.SYSTEM], {}) as made:
        yield made


@pytest.fixture
def app(stand_ins: StandIns, sqlite_url: str) -> Iterator[Holdfast]:
    environment: dict[str, str] = {}
    stand_ins.tell(environment)
    (built,) = build([postcards.SYSTEM], environment)
    with Holdfast(sqlite_url, pipelines=built.parts.pipelines) as made:
        yield made


@pytest.fixture
def client(app: Holdfast, stand_ins: StandIns) -> Iterator[TestClient]:
    api = create_api(app, options=ApiOptions(host="127.0.0.1"))
    screen = mount_lab(api, app, stand_ins=stand_ins)
    mount_console(api, app, more=[screen])
    with client_of(api) as made:
        yield made


def behaviour(stand_ins: StandIns, name: str) -> Behaviour:
    return next(server.behaviour for server in stand_ins if server.stand_in.upstream == name)


def test_every_stand_in_has_a_switch_for_every_behaviour(client: TestClient):
    page = client.get("/lab")

    assert page.status_code == 200
    for name in ("printer", "post-office"):
        assert f'action="/lab/upstreams/{name}"' in page.text
    for each in Behaviour:
        assert page.text.count(f'value="{each}"') == 2
        assert TITLES[each] in page.text


def test_a_switch_changes_one_stand_in_and_leads_back(client: TestClient, stand_ins: StandIns):
    answer = client.post("/lab/upstreams/printer", data={"behaviour": "failing"})

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/lab?")
    assert behaviour(stand_ins, "printer") is Behaviour.FAILING
    assert behaviour(stand_ins, "post-office") is Behaviour.HEALTHY
    page = client.get("/lab").text
    assert "Answers 500, 502 and 503 in turn." in page


def test_cards_are_sent_as_many_as_were_asked_for(client: TestClient, app: Holdfast):
    answer = client.post("/lab/cards", data={"count": "7", "unprintable": "yes"})

    assert answer.status_code == 303
    jobs = app.jobs(JobFilter(states=(JobState.QUEUED,)))
    assert len(jobs) == 8
    assert sum(job.payload["to"] == postcards.NOBODY for job in jobs) == 1
    assert 'id="lab-queues"' in client.get("/lab").text


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "many", "", str(MAX_CARDS + 1)])
def test_an_odd_number_of_cards_is_refused(client: TestClient, app: Holdfast, count: str):
    answer = client.post("/lab/cards", data={"count": count})

    assert answer.status_code == 422
    assert app.jobs() == []


def test_an_odd_behaviour_and_an_odd_upstream_are_refused(client: TestClient):
    assert client.post("/lab/upstreams/printer", data={"behaviour": "wild"}).status_code == 422
    assert client.post("/lab/upstreams/nobody", data={"behaviour": "down"}).status_code == 404


def test_another_site_can_switch_nothing(client: TestClient, stand_ins: StandIns):
    answer = client.post(
        "/lab/upstreams/printer",
        data={"behaviour": "down"},
        headers={"Origin": "https://evil.example"},
    )

    assert answer.status_code == 403
    assert behaviour(stand_ins, "printer") is Behaviour.HEALTHY


def test_with_tokens_only_an_operator_may_switch(
    client: TestClient, app: Holdfast, stand_ins: StandIns
):
    _, secret = app.tokens.create("look", role=Role.READER, by="ada")
    reader = {"Authorization": f"Bearer {secret}"}

    nobody = client.post("/lab/upstreams/printer", data={"behaviour": "down"})
    refused = client.post("/lab/upstreams/printer", data={"behaviour": "down"}, headers=reader)
    looked = client.get("/lab", headers=reader)

    assert (nobody.status_code, refused.status_code, looked.status_code) == (401, 403, 200)
    assert behaviour(stand_ins, "printer") is Behaviour.HEALTHY


def test_the_page_shows_the_breaker_and_what_waits(client: TestClient, app: Holdfast):
    client.post("/lab/cards", data={"count": "3"})
    app.upstreams.force_open("printer", by="ada")

    page = client.get("/lab").text

    assert "Held open by ada." in page
    assert "Held before it" in page


def test_a_site_without_the_lab_has_none(app: Holdfast):
    api = create_api(app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, app)
    with client_of(api) as client:
        assert client.get("/lab").status_code == 404
        assert "Fault lab" not in client.get("/").text


def test_what_a_stand_in_holds_is_a_page_and_its_texts_are_no_markup(app: Holdfast):
    def table() -> Table:
        return Table("Rows", ["name"], [["<b>first</b>"], ["second"]])

    holds = StandIn(upstream="shelf", variable="SHELF_URL", answer=lambda _: Answer(), table=table)
    system = System(name="shelves", title="Shelves", build=lambda _: Parts(), stand_ins=[holds])
    with StandIns([postcards.SYSTEM, system], {}) as stand_ins:
        api = create_api(app, options=ApiOptions(host="127.0.0.1"))
        mount_console(api, app, more=[mount_lab(api, app, stand_ins=stand_ins)])
        with client_of(api) as client:
            lab = client.get("/lab").text
            page = client.get("/lab/tables/shelf")
            none = client.get("/lab/tables/printer")

    assert lab.count("/lab/tables/") == 1
    assert 'href="/lab/tables/shelf"' in lab
    assert (page.status_code, none.status_code) == (200, 404)
    assert "&lt;b&gt;first&lt;/b&gt;" in page.text
    assert "2 rows" in page.text
