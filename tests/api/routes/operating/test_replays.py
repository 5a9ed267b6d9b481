"""Replays of many letters over HTTP: looked at first, run in the background, told as they go."""

import pytest

from holdfast.api.replay_runner import ReplayRunner
from holdfast.core.values.instant import SECOND_US
from holdfast.testing import drain
from tests.api.routes.operating.desk import NOBODY, READY

AT_ONCE = {**READY, "canary": 0, "rate": None}
GATEWAY = {"letters": {"error_class": "GATEWAY_DOWN"}}


@pytest.fixture
def quiet(desk):
    """A desk whose replays nobody runs but the test."""
    desk.api.state.replays.stop()
    return desk


def start(client, **how):
    return client.post("/api/replays", json={**GATEWAY, **how})


def turns(desk, runner, count=20):
    """Let the runner and the workers take turns: in this thread, and in none of its own."""
    runner.stop()
    for _ in range(count):
        runner.look()
        runner.tick(desk.clock.now())
        drain(desk.app)
        desk.clock.advance(1)


def test_a_dry_run_tells_what_would_be_sent_and_changes_nothing(quiet):
    quiet.dead(1, 2, 3)

    answer = start(quiet(), dry_run=True, **READY)

    assert answer.status_code == 200
    assert answer.json()["ready"] == 3
    assert answer.json()["pipelines"] == {"p": 3}
    assert quiet().get("/api/replays").json()["items"] == []


def test_a_replay_is_made_with_its_terms_and_where_to_find_it(quiet):
    quiet.dead(1, 2)

    answer = start(quiet(), name="outage", canary=1, rate=2.0, stop_after=3, reason="INC", **READY)

    assert answer.status_code == 201
    replay = quiet().get(answer.headers["location"]).json()
    assert replay == answer.json()
    assert (replay["name"], replay["canary"], replay["rate"], replay["stop_after"]) == (
        "outage",
        1,
        2.0,
        3,
    )
    assert (replay["state"], replay["letters"], replay["asked_by"]) == (
        "planned",
        2,
        "operator of all",
    )


def test_the_runner_takes_a_replay_to_its_end(quiet):
    ids = quiet.dead(1, 2, 3)
    replay = start(quiet(), **{**READY, "canary": 1, "rate": None}).json()["id"]

    turns(quiet, ReplayRunner(quiet.app))

    done = quiet().get(f"/api/replays/{replay}").json()
    assert (done["state"], done["counts"]["succeeded"]) == ("done", 3)
    assert sorted(quiet.calls) == [1, 2, 3]
    letters = quiet().get(f"/api/replays/{replay}/letters?limit=2")
    assert [item["letter_id"] for item in letters.json()["items"]] == ids[:2]
    rest = quiet().get(letters.links["next"]["url"]).json()
    assert [item["state"] for item in rest["items"]] == ["succeeded"]


def test_a_failed_canary_stops_the_rest(quiet):
    quiet.dead(1, 2, 3)
    quiet.down_for = None
    replay = start(quiet(), **READY).json()["id"]

    turns(quiet, ReplayRunner(quiet.app), 5)

    told = quiet().get(f"/api/replays/{replay}").json()
    assert told["state"] == "stopped"
    assert "canary" in told["note"]
    assert len(quiet.calls) == 1


def test_another_process_goes_on_where_one_ended(quiet):
    quiet.dead(*range(6))
    replay = start(quiet(), **{**READY, "canary": 0, "rate": 1.0}).json()["id"]
    first = ReplayRunner(quiet.app)
    turns(quiet, first, 2)
    before = len(quiet.calls)

    turns(quiet, ReplayRunner(quiet.app), 20)

    assert 0 < before < 6
    assert sorted(quiet.calls) == list(range(6))
    assert quiet().get(f"/api/replays/{replay}").json()["state"] == "done"


def test_two_runners_send_every_letter_once(quiet):
    quiet.dead(*range(6))
    start(quiet(), **AT_ONCE)
    one, two = ReplayRunner(quiet.app), ReplayRunner(quiet.app)

    for _ in range(10):
        one.tick(quiet.clock.now())
        two.tick(quiet.clock.now())
        quiet.clock.advance(1)
    drain(quiet.app)

    assert sorted(quiet.calls) == list(range(6))


def test_what_somebody_broke_off_elsewhere_is_left_alone_until_it_is_resumed(quiet):
    quiet.dead(1, 2)
    view = quiet.app.replays.start(
        "by hand", quiet.app.dead.find()[0].letter.fingerprint, by="ada", **AT_ONCE
    )
    runner = ReplayRunner(quiet.app)

    turns(quiet, runner, 3)
    assert quiet.calls == []
    resumed = quiet().post(f"/api/replays/{view.id}/resume")
    turns(quiet, runner, 5)

    assert resumed.status_code == 200
    assert sorted(quiet.calls) == [1, 2]


def test_a_cancelled_replay_sends_nothing_more(quiet):
    quiet.dead(1, 2, 3)
    replay = start(quiet(), **READY).json()["id"]

    cancelled = quiet().post(f"/api/replays/{replay}/cancel", json={"reason": "wrong group"})
    turns(quiet, ReplayRunner(quiet.app), 3)

    assert cancelled.json()["state"] == "cancelled"
    assert cancelled.json()["note"] == "wrong group"
    assert quiet.calls == []
    again = quiet().post(f"/api/replays/{replay}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_one_replay_that_fails_does_not_stop_the_others(quiet):
    quiet.dead(1)
    runner = ReplayRunner(quiet.app)

    class Broken:
        over = False

        def tick(self, now):
            raise RuntimeError("out of order")

    start(quiet(), **AT_ONCE)
    runner._find(quiet.clock.now())
    runner._due["broken"], runner._replayers["broken"] = quiet.clock.now(), Broken()
    runner.tick(quiet.clock.now())

    assert runner._due["broken"] > quiet.clock.now() + SECOND_US
    turns(quiet, runner, 4)
    assert quiet.calls == [1]


def test_a_replay_of_nothing_is_not_made(quiet):
    answer = start(quiet(), **READY)

    assert answer.status_code == 422
    assert "nothing was started" in answer.json()["detail"]


def test_an_owner_replays_their_own_letters_and_sees_no_others(quiet):
    quiet.dead(1, owner="a")
    quiet.dead(2, owner="b")
    of_a, of_b = quiet("operator", "a"), quiet("operator", "b")

    replay = start(of_a, **AT_ONCE).json()
    turns(quiet, ReplayRunner(quiet.app), 5)

    assert replay["letters"] == 1
    assert quiet.calls == [1]
    assert of_b.get("/api/replays").json()["items"] == []
    assert of_b.get(f"/api/replays/{replay['id']}").status_code == 404
    foreign = start(of_a, letters={"owner": "b"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "owner_refused")


def test_terms_that_make_no_sense_are_refused(sqlite_desk):
    senseless = [
        {"canary": -1},
        {"canary": True},
        {"rate": 0},
        {"rate": "fast"},
        {"stop_after": 0},
        {"letters": {"sql": "1=1"}},
        {"state": "done"},
        {"letters": {"failed_since": "2026-01-01T00:00:00"}},
    ]

    answers = [start(sqlite_desk(), **how) for how in senseless]

    assert [answer.status_code for answer in answers] == [422] * len(senseless)


def test_a_replay_that_is_not_there_is_not_found(quiet):
    client = quiet()

    answers = [
        client.get(f"/api/replays/{NOBODY}"),
        client.get(f"/api/replays/{NOBODY}/letters"),
        client.post(f"/api/replays/{NOBODY}/cancel"),
        client.post(f"/api/replays/{NOBODY}/resume"),
    ]

    assert {(each.status_code, each.json()["code"]) for each in answers} == {
        (404, "replay_not_found")
    }
