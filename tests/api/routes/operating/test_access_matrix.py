"""Every route with every role and every owner. The list of routes is the application's own.

A route that is not in `ROUTES` fails here: whoever makes one says whom it is for.
"""

import re
from typing import NamedTuple

import pytest

from holdfast import Pipeline
from holdfast.api.routing import api_routes
from holdfast.core.values.role import Role
from holdfast.dead_letters import LetterFilter
from holdfast.deliveries import Notify
from holdfast.testing import drain
from tests.api.routes.operating.desk import NOBODY, READY, Desk

READER, SUBMITTER, OPERATOR = Role.READER, Role.SUBMITTER, Role.OPERATOR
ENDLESS = {"GET /api/stream", "GET /api/stream/all"}
ABOUT_THE_API = {"GET /api", "GET /api/", "GET /api/openapi.json", "GET /api/reference"}


BY_PATH = {"POST /api/callbacks/{token}"}
"""What the token in the path opens, and nobody's role: `tests/api/routes/test_callbacks.py`."""


class Door(NamedTuple):
    """Whom a route is for, and a body that it takes."""

    role: Role
    every_owner: bool = False
    body: dict[str, object] | None = None
    of_own: Role | None = None
    """What is enough for one owner's, with what is theirs."""
    walk_ins: bool = False
    """Whether it lets people in who have no credentials, where that is switched on."""

    def takes(self, role: Role, owner: str | None) -> bool:
        return role.may(self.role if owner is None else self.of_own or self.role)


ALL = True
ROUTES = {
    "GET /api/attention": Door(READER, ALL),
    "GET /api": Door(READER),
    "GET /api/": Door(READER),
    "GET /api/audit": Door(READER, ALL),
    "GET /api/dead-letters": Door(READER),
    "GET /api/dead-letters/groups": Door(READER),
    "GET /api/dead-letters/{letter_id}": Door(READER),
    "POST /api/dead-letters/{letter_id}/triage": Door(OPERATOR, body={"cause": "data"}),
    "POST /api/dead-letters/{letter_id}/remediate": Door(OPERATOR, body={"evidence": "x"}),
    "POST /api/dead-letters/{letter_id}/replay": Door(OPERATOR),
    "POST /api/dead-letters/{letter_id}/resolve": Door(
        OPERATOR, body={"note": "x", "unreplayed": True}
    ),
    "GET /api/deliveries": Door(READER),
    "GET /api/deliveries/{delivery_id}": Door(READER),
    "POST /api/deliveries/{delivery_id}/resolve": Door(OPERATOR, body={"word": "resend"}),
    "GET /api/exports/jobs.csv": Door(READER),
    "GET /api/exports/dead-letters.csv": Door(READER),
    "GET /api/exports/deliveries.csv": Door(READER),
    "GET /api/exports/audit.csv": Door(READER, ALL),
    "POST /api/jobs/cancel": Door(
        OPERATOR, body={"filter": {"pipeline": "p"}, "reason": "x", "dry_run": True}
    ),
    "POST /api/jobs/retry": Door(
        OPERATOR, body={"filter": {"pipeline": "p"}, "reason": "x", "dry_run": True}
    ),
    "POST /api/jobs": Door(SUBMITTER, body={"pipeline": "p", "payload": {"n": 99}}),
    "GET /api/jobs": Door(READER),
    "GET /api/jobs/{job_id}": Door(READER, walk_ins=True),
    "GET /api/jobs/{job_id}/events": Door(READER, walk_ins=True),
    "GET /api/jobs/{job_id}/attempts": Door(READER, walk_ins=True),
    "GET /api/jobs/{job_id}/results": Door(READER),
    "POST /api/jobs/{job_id}/retry": Door(OPERATOR, of_own=SUBMITTER, walk_ins=True),
    "POST /api/jobs/{job_id}/cancel": Door(OPERATOR, of_own=SUBMITTER, walk_ins=True),
    "GET /api/outbox": Door(READER, ALL),
    "GET /api/outbox/{message_id}": Door(READER, ALL),
    "POST /api/outbox/{message_id}/retry": Door(OPERATOR, ALL),
    "GET /api/queues": Door(READER, ALL),
    "POST /api/queues/{name}/pause": Door(OPERATOR, ALL),
    "POST /api/queues/{name}/resume": Door(OPERATOR, ALL),
    "GET /api/openapi.json": Door(READER),
    "GET /api/reference": Door(READER),
    "GET /api/replays": Door(READER),
    "POST /api/replays": Door(OPERATOR, body={"letters": {}, "dry_run": True}),
    "GET /api/replays/{replay_id}": Door(READER),
    "GET /api/replays/{replay_id}/letters": Door(READER),
    "POST /api/replays/{replay_id}/cancel": Door(OPERATOR),
    "POST /api/replays/{replay_id}/resume": Door(OPERATOR),
    "GET /api/session": Door(READER, walk_ins=True),
    "POST /api/session": Door(READER, body={"token": "hf_nobody"}),
    "DELETE /api/session": Door(READER),
    "GET /api/stream": Door(READER, walk_ins=True),
    "GET /api/stream/all": Door(READER),
    "GET /api/tokens": Door(OPERATOR, ALL),
    "POST /api/tokens": Door(OPERATOR, ALL, {"name": "x", "role": "reader"}),
    "POST /api/tokens/{token_id}/revoke": Door(OPERATOR, ALL),
    "GET /api/upstreams": Door(READER, ALL),
    "GET /api/upstreams/{name}": Door(READER, ALL),
    "POST /api/upstreams/{name}/breaker": Door(OPERATOR, ALL, {"action": "reset"}),
    "GET /api/workers": Door(READER, ALL),
    "POST /api/workers/{worker_id}/drain": Door(OPERATOR, ALL),
}


def served(desk) -> set[str]:
    """Every route that is open to roles."""
    return all_served(desk) - BY_PATH


def all_served(desk) -> set[str]:
    return {
        f"{method} {path}"
        for path, route in api_routes(desk.api.routes)
        for method in route.methods - {"HEAD"}
    }


def call(client, route: str, *, ids: dict[str, str] | None = None):
    """Ask for a route, with the ids that are given and with those of nobody for the others."""
    method, path = route.split(" ")
    names = ids or {}
    path = re.sub(r"{(\w+)}", lambda found: names.get(found[1], NOBODY), path)
    return client.request(method, path, json=ROUTES[route].body)


def test_every_route_says_here_whom_it_is_for(sqlite_desk):
    assert all_served(sqlite_desk) == set(ROUTES) | BY_PATH


def test_what_the_path_opens_is_closed_to_every_role(sqlite_desk):
    desk = sqlite_desk
    everybody = [desk.visitor(None), *(desk(role, None) for role in Role)]
    body = {"outcome": "result", "result": 1}

    refused = {
        (answer.status_code, answer.json()["code"])
        for client in everybody
        for answer in [client.post(f"/api/callbacks/{NOBODY}", json=body)]
    }

    assert refused == {(403, "callback_refused")}


def test_nobody_comes_in_without_good_credentials(sqlite_desk):
    desk = sqlite_desk
    view, revoked = desk.app.tokens.create("gone", role="operator", by="test")
    desk.app.tokens.revoke(view.id, by="test")
    strangers = {
        "credentials_missing": desk.visitor(None),
        "credentials_refused": desk.visitor(revoked),
    }
    unlike = desk.visitor("hf_" + "A" * 43)

    refused = {
        (route, code): (answer.status_code, answer.json()["code"])
        for route in served(desk)
        for code, client in strangers.items()
        for answer in [call(client, route)]
    }
    guessed = {call(unlike, route).json()["code"] for route in served(desk)}

    assert refused == {found: (401, found[1]) for found in refused}
    assert guessed == {"credentials_refused"}


@pytest.mark.parametrize("owner", [None, "a"], ids=["of every owner", "of one owner"])
@pytest.mark.parametrize("role", list(Role))
def test_each_role_may_do_what_it_is_for_and_nothing_else(sqlite_desk, role, owner):
    desk = sqlite_desk
    found, expected = {}, {}
    for route in sorted(served(desk)):
        door = ROUTES.get(route, Door(OPERATOR, ALL))
        if not door.takes(role, owner):
            expected[route] = "role_missing"
        elif door.every_owner and owner is not None:
            expected[route] = "scope_missing"
        elif route in ENDLESS:
            continue  # it answers for as long as somebody listens; refusals are looked at above
        else:
            expected[route] = "let in"
        # A session that is ended is its own; each role has a client for every route.
        answer = call(desk(role, owner), route)
        refused = answer.status_code == 403
        if answer.status_code == 401:
            assert route == "POST /api/session", "the token in its body is refused"
        found[route] = answer.json()["code"] if refused else "let in"

    assert found == expected


def test_where_walk_ins_are_let_in_they_are_by_those_routes_alone(tmp_path):
    desk = Desk(f"sqlite:///{tmp_path / 'holdfast.db'}", api={"walk_ins": True})
    try:
        found = {
            route: call(desk.visitor(None), route).status_code != 401
            for route in served(desk) - ENDLESS
        }
    finally:
        desk.close()

    assert found == {route: ROUTES[route].walk_ins for route in found}


@pytest.fixture
def of_a(desk) -> dict[str, str]:
    """One of everything that belongs to the owner `a`, by the name that paths have for it."""
    telling = Pipeline("telling")

    @telling.stage
    def tell(job):
        return Notify(
            subject="secret-subject", recipients=["a@example.test"], message={"text": "x"}
        )

    desk.app.add(telling)
    desk.app.submit("telling", owner="a")
    (letter, replayed) = desk.dead(1, 2, owner="a")
    desk.app.dead.triage(replayed, cause="data", by="ada")
    (delivery,) = desk.app.deliveries.find()
    replay = desk.app.replays.start(
        "secret-replay", LetterFilter(owner="a"), by="ada", owner="a", canary=0, rate=None, **READY
    )
    return {
        "job_id": letter,
        "letter_id": letter,
        "delivery_id": delivery.id,
        "replay_id": replay.id,
    }


def owned_by_somebody(desk) -> list[str]:
    """The routes to a single thing that has an owner."""
    return sorted(route for route in served(desk) if "{" in route and not ROUTES[route].every_owner)


def without_ids(problem: dict[str, object]) -> dict[str, object]:
    return {name: fact for name, fact in problem.items() if name not in {"instance", "request_id"}}


def test_what_is_anothers_is_not_told_from_what_is_not_there(desk, of_a):
    stranger = desk("operator", "b")
    before = standing(desk, of_a)
    routes = owned_by_somebody(desk)

    for route in routes:
        theirs, nobodys = call(stranger, route, ids=of_a), call(stranger, route)
        assert (route, theirs.status_code) == (route, 404)
        assert (route, without_ids(theirs.json())) == (route, without_ids(nobodys.json()))
        assert set(theirs.headers) == set(nobodys.headers)

    assert len(routes) >= 17
    assert standing(desk, of_a) == before


def test_the_owner_itself_finds_what_it_has(desk, of_a):
    missing = [
        route
        for route in owned_by_somebody(desk)
        if call(desk("operator", "a"), route, ids=of_a).status_code in {403, 404, 422}
    ]

    assert missing == []


def test_no_list_and_no_export_shows_what_is_anothers(desk, of_a):
    stranger, owner = desk("operator", "b"), desk("operator", "a")
    lists = [
        route
        for route in served(desk)
        if route.startswith("GET")
        and "{" not in route
        and not ROUTES[route].every_owner
        and route not in ENDLESS | ABOUT_THE_API
    ]
    marks = [*of_a.values(), "secret-subject", "secret-replay", "GATEWAY_DOWN"]

    shown = {route: call(stranger, route).text for route in lists}
    own = "".join(call(owner, route).text for route in lists)

    assert [(route, mark) for route, text in shown.items() for mark in marks if mark in text] == []
    assert [mark for mark in marks if mark not in own] == []


def test_no_filter_reaches_what_is_anothers(desk, of_a):
    stranger = desk("operator", "b")

    by_owner = [
        stranger.get(f"/api/{noun}?owner=a")
        for noun in ("jobs", "dead-letters", "exports/jobs.csv", "exports/dead-letters.csv")
    ]
    by_key = stranger.get("/api/jobs?key=k-1").json()["items"]
    by_job = stranger.get(f"/api/deliveries?job_id={of_a['job_id']}").json()["items"]
    in_bulk = stranger.post(
        "/api/jobs/retry", json={"filter": {"pipeline": "p"}, "reason": "x"}
    ).json()
    drain(desk.app)

    assert {answer.status_code for answer in by_owner} == {403}
    assert (by_key, by_job) == ([], [])
    assert in_bulk["changed"] == 0
    assert desk.calls == []


def standing(desk, ids) -> list[object]:
    """All that a stranger must not change."""
    app = desk.app
    return [
        app.job(ids["job_id"]).job.revision,
        app.dead.get(ids["letter_id"]).letter.revision,
        app.deliveries.get(ids["delivery_id"]).delivery.revision,
        app.replays.show(ids["replay_id"]).replay.revision,
        len(app.audit(limit=1000)),
    ]
