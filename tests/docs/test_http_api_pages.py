"""Every route of the API is on a page, with the role that it takes, and no page has others."""

import re
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.api import create_api
from holdfast.api.routing import api_routes, needs_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "http-api-operators.md"
NOUNS = [
    "attention",
    "audit",
    "dead-letters",
    "deliveries",
    "exports",
    "outbox",
    "queues",
    "replays",
    "tokens",
    "upstreams",
    "workers",
]
_ROW = re.compile(r"\| `((?:GET|POST|DELETE) /api/\S+)` \| (\w+)(, all)? \|")


@pytest.fixture(scope="module")
def served() -> dict[str, tuple[str, bool]]:
    with Holdfast("sqlite:///:memory:") as app:
        return {
            f"{method} {path}": (needs_of(route).role.value, needs_of(route).every_owner)
            for path, route in api_routes(create_api(app).routes)
            if needs_of(route) is not None
            for method in route.methods
        }


def test_every_route_for_operators_is_on_its_page_with_its_role(served):
    told = {
        route: (role, bool(every)) for route, role, every in _ROW.findall(PAGE.read_text("utf-8"))
    }

    assert told == {
        route: needed
        for route, needed in served.items()
        if route.partition("/api/")[2].split("/")[0].removesuffix(".csv") in NOUNS
    }
