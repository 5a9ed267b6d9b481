"""What is served beside the API: the console, and what systems bring."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, FastAPI, Request

from holdfast import Holdfast
from holdfast.api.access import Submitter, guarded_router
from holdfast.cli.processes.site import site_of
from holdfast.config.settings import Settings
from holdfast.errors import UsageError
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import Built, Parts, System
from tests.api.clients import client_of

MEBIBYTE = 1024 * 1024


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Holdfast]:
    with Holdfast(sqlite_url) as made:
        yield made


def built(name: str = "parcels", **parts: object) -> Built:
    made = Parts(**parts)
    return Built(System(name=name, title=name.title(), build=lambda _: made), made)


def pages(_: Holdfast) -> FastAPI:
    site = FastAPI()

    @site.post("/upload")
    async def upload(request: Request) -> int:
        return len(await request.body())

    return site


def test_routes_of_a_system_are_behind_the_api_s_own_doors(app: Holdfast):
    def router(engine: Holdfast) -> APIRouter:
        assert engine is app
        routes = guarded_router("parcels")

        @routes.post("", name="book_parcel")
        def book(who: Submitter) -> str:
            return who.name

        return routes

    _, reader = app.tokens.create("reader", role="reader", by="ada")
    _, submitter = app.tokens.create("shop", role="submitter", by="ada")
    site = site_of(app, Settings(), built=[built(router=router)])

    with client_of(site) as client:
        statuses = [
            client.post("/api/parcels", headers=headers).status_code
            for headers in (
                {},
                {"Authorization": f"Bearer {reader}"},
                {"Authorization": f"Bearer {submitter}"},
            )
        ]

    assert statuses == [401, 403, 200]


def test_a_route_of_a_system_that_demands_no_role_is_refused(app: Holdfast):
    def router(_: Holdfast) -> APIRouter:
        routes = APIRouter()
        routes.add_api_route("/api/parcels", lambda: "open to all")
        return routes

    with pytest.raises(UsageError, match="/api/parcels demands no role"):
        site_of(app, Settings(), built=[built(router=router)])


def test_pages_of_a_system_are_under_its_name_and_the_console_leads_there(app: Holdfast):
    site = site_of(app, Settings(), built=[built(pages=pages)])

    with client_of(site) as client:
        answer = client.post("/parcels/upload", content=b"abc")
        overview = client.get("/", headers={"Accept": "text/html"})

    assert answer.json() == 3
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert 'href="/parcels/"' in overview.text


def test_the_lab_leads_wherever_the_other_pages_lead(app: Holdfast):
    with StandIns([], {}) as stand_ins:
        site = site_of(app, Settings(), built=[built(pages=pages)], stand_ins=stand_ins)
        with client_of(site) as client:
            lab = client.get("/lab", headers={"Accept": "text/html"}).text
            overview = client.get("/", headers={"Accept": "text/html"}).text

    for page in (lab, overview):
        assert 'href="/parcels/"' in page
        assert 'href="/lab"' in page


@pytest.mark.parametrize("name", ["jobs", "api", "static", "login", "lab"])
def test_a_system_cannot_take_the_place_of_a_page(app: Holdfast, name: str):
    with (
        StandIns([], {}) as stand_ins,
        pytest.raises(UsageError, match=f"system '{name}' cannot have its pages under /{name}"),
    ):
        site_of(app, Settings(), built=[built(name, pages=pages)], stand_ins=stand_ins)


def test_a_system_may_be_sent_more_than_the_api(app: Holdfast):
    upload = built(pages=pages, body_limits={"/parcels/upload": 3 * MEBIBYTE})
    site = site_of(app, Settings(), built=[upload])

    with client_of(site) as client:
        fits = client.post("/parcels/upload", content=b"x" * (2 * MEBIBYTE))
        too_much = client.post("/parcels/upload", content=b"x" * (3 * MEBIBYTE + 1))
        elsewhere = client.post("/parcels/other", content=b"x" * (2 * MEBIBYTE))

    assert fits.json() == 2 * MEBIBYTE
    assert (too_much.status_code, elsewhere.status_code) == (413, 413)
