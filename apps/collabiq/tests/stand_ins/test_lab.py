"""The stand-ins as the lab serves them."""

import json
import urllib.error
import urllib.request

import pytest

from collabiq.samples import mailbox
from collabiq.settings.config import Config
from collabiq.stand_ins.arrivals import BURST, Arrivals
from collabiq.stand_ins.lab import VARIABLES, Lab, is_lab, lab_environment
from collabiq.stand_ins.world import NOTION_KEY
from holdfast.lab.stand_in_server import StandInServer
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import Parts, System
from holdfast.variables import Variables

FAULTS = {
    "gmail": {"unauthorized", "forbidden", "invalid", "history_expired", "token_revoked"},
    "gemini": {"unauthorized", "forbidden", "invalid", "overloaded", "rate_limited"},
    "notion": {"unauthorized", "forbidden", "conflict", "invalid", "overloaded", "rate_limited"},
    "infisical": {"unauthorized", "forbidden"},
}


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab(run=7)


def served(lab: Lab, upstream: str) -> StandInServer:
    (brought,) = [each for each in lab.stand_ins() if each.upstream == upstream]
    server = StandInServer(brought)
    server.start()
    return server


@pytest.mark.parametrize("upstream", VARIABLES)
def test_a_stand_in_serves_in_the_lab_with_its_faults_explained(lab: Lab, upstream):
    server = served(lab, upstream)
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.url}/nowhere", timeout=10)
        refused.value.close()
    finally:
        server.close()

    brought = server.stand_in
    assert 400 <= refused.value.code < 500
    assert all(fault.__doc__ for fault in brought.faults.values())
    assert FAULTS[upstream] | {"lost_answer"} <= set(brought.faults)
    assert brought.variable == VARIABLES[upstream]


def test_a_lost_answer_is_none_and_what_was_asked_is_done():
    lab = Lab()
    server = served(lab, "notion")
    server.behave(server.behaviour, fault="lost_answer")
    page = {"parent": {"database_id": lab.world.rows_id}, "properties": {}}
    headers = {"Authorization": f"Bearer {NOTION_KEY}", "Notion-Version": "2025-09-03"}
    request = urllib.request.Request(
        f"{server.url}/v1/pages", data=json.dumps(page).encode(), headers=headers
    )
    try:
        with pytest.raises(ConnectionError):
            urllib.request.urlopen(request, timeout=10)
    finally:
        server.close()

    assert len(lab.world.notion.rows_of(lab.world.rows_id)) == 1
    assert server.calls == {"none": 1}


def test_in_the_lab_a_system_is_set_up_to_call_the_stand_ins(lab: Lab):
    system = System(name="collabiq", title="t", build=lambda _: Parts(), stand_ins=lab.stand_ins())
    stand_ins = StandIns([system], {})
    environment = {"HOLDFAST_LAB": "1", "CONFIDENCE_THRESHOLD": "0.5"}
    stand_ins.tell(environment)
    stand_ins.close()

    found = lab.environment(Variables(environment, system="collabiq"))
    config = Config.read(found)

    assert config.email_address == lab.world.gmail.address
    assert config.notion_api_url == environment["COLLABIQ_NOTION_API_URL"]
    assert config.gmail_token_uri == f"{environment['COLLABIQ_GMAIL_API_URL']}/token"
    assert config.infisical.enabled
    assert config.confidence_threshold == 0.5
    assert all(name in found for name in config.required_secrets)


@pytest.mark.parametrize(
    "environment",
    [{}, {"HOLDFAST_LAB": "1", "EMAIL_ADDRESS": "me@real.example"}, {"GMAIL_API_URL": "http://x"}],
)
def test_what_somebody_has_set_up_is_left_alone(environment):
    assert not is_lab(environment)
    assert lab_environment(environment) is environment


def test_mails_arrive_one_by_one_and_many_at_once():
    lab = Lab(run=3)
    (switch, *_) = lab.switches()

    arrived = [lab.post.arrive() for _ in range(3)]
    switch.set("paused")
    paused = lab.post.arrive()
    switch.set("burst")

    assert (arrived, paused) == ([True] * 3, False)
    assert switch.get() == "paused"
    assert len(lab.world.gmail.mails) == 3 + BURST


def test_mails_of_another_run_have_ids_of_their_own():
    first, second = Lab(run=1), Lab(run=2)

    for each in (first, second):
        each.post.arrive()

    (one,), (other,) = (list(each.world.gmail.mails.values()) for each in (first, second))
    assert one.id != other.id
    assert b"Message-ID: <1-0." in one.raw
    assert b"Message-ID: <2-0." in other.raw
    assert second.world.gmail.oldest_history > int(first.world.gmail.history_id)


def test_arrivals_end_when_the_mailbox_is_complete():
    lab = Lab()

    found = [lab.post.arrive() for _ in range(len(mailbox()) + 1)]

    assert found == [True] * len(mailbox()) + [False]


def test_the_service_of_arrivals_runs_until_it_is_stopped():
    calls = []

    def arrive() -> None:
        calls.append(1)
        if len(calls) == 3:
            service.request_stop()

    service = Arrivals(arrive, every_s=0.001)

    assert service.run(handle_signals=False) == 0
    assert len(calls) == 3


def test_switches_change_what_notion_and_google_do():
    lab = Lab()
    world = lab.world
    by_name = {each.name: each for each in lab.switches()}

    for switch, broken in [
        ("notion-index", "lagging"),
        ("notion-columns", "one_missing"),
        ("gmail-token", "revoked"),
    ]:
        usual = by_name[switch].get()
        by_name[switch].set(broken)
        assert by_name[switch].get() == broken
        assert usual == next(iter(by_name[switch].options))
    broken_now = (world.notion.index_lag_s, "협업강도" in world.notion.columns_of(world.rows_id))
    for switch in by_name.values():
        switch.set(next(iter(switch.options)))

    assert broken_now == (3.0, False)
    assert (world.notion.index_lag_s, world.gmail.revoked) == (0.0, False)
    assert "협업강도" in world.notion.columns_of(world.rows_id)


def test_the_table_shows_the_rows_newest_first_with_names_for_ids():
    lab = Lab()
    notion, rows = lab.world.notion, lab.world.rows_id
    (company, *_) = notion.rows_of(lab.world.companies_id)
    person = next(iter(notion.users))
    for title in ("first", "second"):
        notion.add_row(
            rows,
            {
                "제목": {"title": [{"text": {"content": title}}]},
                "스타트업명": {"relation": [{"id": company["id"]}]},
                "담당자": {"people": [{"id": person}]},
                "검토필요": {"checkbox": True},
            },
        )

    table = lab.table()

    shown = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["제목"] for row in shown] == ["second", "first"]
    assert shown[0]["스타트업명"] == "소리담"
    assert shown[0]["담당자"] == "김도윤"
    assert (shown[0]["검토필요"], shown[0]["날짜"]) == ("yes", "")
