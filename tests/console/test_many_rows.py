"""Pages stay quick where there are ten million jobs: each looks at a few of them, and no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from holdfast.api import ApiOptions
from tests.console.site import Filled, Site
from tests.store.copies import Copies, copy, settle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MILLION = 1_000_000
OK, TOO_SLOW = 200, 503
STATEMENTS = 3
"""So many of those that take long does a page ask one after the other."""
ELSEWHERE = {"/search", "/api/stream", "/api/stream/all"}
"""What is answered with another page, or never ends."""
CAUSES = 40
FOUND_BY_AN_INDEX = (
    *("state=failed", "state=cancelled", "state=processing", "state=queued", "state=complete"),
    *("key=fine", "key=copy-77", "key=nobody", "owner=ben", "owner=ann", "owner=nobody"),
    *("error_class=GATEWAY_DOWN", "pipeline=p", "queue=work"),
)
LOOKED_FOR_EVERYWHERE = ("pipeline=nobody", "stage=nowhere", "queue=nobody")
OF_ONE_OWNER = (
    *("/", "/jobs", "/jobs?state=complete", "/jobs?key=fine", "/dead-letters", "/groups"),
    *("/deliveries", "/replays", "/api/jobs", "/api/dead-letters", "/api/dead-letters/groups"),
    *("/api/deliveries", "/api/exports/jobs.csv", "/api/exports/dead-letters.csv"),
)


class Crowd(NamedTuple):
    """A site with ten million jobs; those of the owner `ben` are few, and older than all others."""

    site: Site
    there: Filled


@pytest.fixture
def crowd(database_url: str) -> Iterator[Crowd]:
    with closing(Site(database_url)) as site:
        there = site.fill(owner="ben")
        from_ms = site.app.clock.now() // 1000 + 1
        site.clock.advance(3 * 3600)
        for copies in crowding(there, from_ms):
            copy(database_url, copies)
        settle(database_url)
        yield Crowd(site, there)


def crowding(there: Filled, from_ms: int) -> list[Copies]:
    """From the oldest to the newest: what failed with its letters, what waits, what is done."""
    job = {"key": "null", "created_at": "at", "updated_at": "at", "owner": "'ann'"}
    letter = {
        "owner": "'ann'",
        "fingerprint": f"row.fingerprint || '-' || (n % {CAUSES})",
        "first_failure_at": "at",
        "last_failure_at": "at",
        "updated_at": "at",
    }
    queued = {**job, "run_at": "at", "owner": "''"}
    complete = {**job, "key": "'copy-' || n"}
    return [
        Copies("job", there.failed, MILLION, from_ms, job),
        Copies("dead_letter", there.failed, MILLION, from_ms, letter),
        Copies("job", there.queued, MILLION, from_ms + MILLION, queued),
        Copies("job", there.complete, 8 * MILLION, from_ms + 2 * MILLION, complete),
    ]


class Looked(NamedTuple):
    """What was answered to each path, and how long it took."""

    status: dict[str, int]
    took_s: dict[str, float]


def looked_at(client: TestClient, paths: list[str]) -> Looked:
    looked = Looked({}, {})
    for path in paths:
        began_s = time.monotonic()
        looked.status[path] = client.get(path).status_code
        looked.took_s[path] = time.monotonic() - began_s
    slowest = sorted(((round(took, 2), path) for path, took in looked.took_s.items()), reverse=True)
    print("the slowest:", slowest[:8])
    return looked


def test_every_page_and_every_list_is_there_before_the_reader_loses_patience(crowd):
    site, there = crowd
    pages = [path for path in site.console_routes("GET") if "{" not in path]
    lists = [
        path
        for path, operations in site.api.openapi()["paths"].items()
        if "get" in operations and "{" not in path and path.startswith("/api/")
    ]
    cause = f"{there.fingerprint}-7"
    single = [f"/jobs/{there.failed}", f"/dead-letters/{there.failed}", f"/groups/{cause}/replay"]
    asked = sorted({*pages, *lists} - ELSEWHERE)
    indexed = [f"{path}?{each}" for path in ("/jobs", "/api/jobs") for each in FOUND_BY_AN_INDEX]
    indexed += [f"/dead-letters?fingerprint={cause}", "/dead-letters?owner=ben", "/metrics"]
    indexed += ["/jobs?within=900&pipeline=nobody", "/jobs/bulk/retry?state=failed"]
    everywhere = [f"/jobs?{each}" for each in LOOKED_FOR_EVERYWHERE]

    looked = looked_at(site.local(), [*asked, *single, *indexed, *everywhere])
    owned = {who: looked_at(site.bearer(owner=who), [*OF_ONE_OWNER]) for who in ("ben", "ann")}

    found = [*asked, *single, *indexed]
    assert {path for path in found if looked.status[path] != OK} == set()
    # What no index knows may be looked for everywhere, but not for ever.
    assert {looked.status[path] for path in everywhere} <= {OK, TOO_SLOW}
    for who, of_one in owned.items():
        assert (who, {path for path in OF_ONE_OWNER if of_one.status[path] != OK}) == (who, set())
    limit_s = STATEMENTS * ApiOptions().read_s
    assert max(max(each.took_s.values()) for each in (looked, *owned.values())) < limit_s
