"""Lists stay quick where there are many rows: each looks at a page of them, and no more."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from holdfast.api import ApiOptions
from tests.console.site import Site
from tests.store.conftest import by_hand

pytestmark = pytest.mark.slow

OK, TOO_SLOW = 200, 503
STATEMENTS = 3
"""So many of those that take long does a page ask one after the other."""
COPIES = 100_000
"""Of each of three jobs, and of a dead letter."""
FILTERS = (
    *("state=failed", "state=queued", "state=complete", "pipeline=p", "pipeline=nobody"),
    *("key=fine", "error_class=GATEWAY_DOWN", "owner=nobody", "queue=work"),
)
ELSEWHERE = {"/search", "/api/stream"}
"""What is answered with another page, or never ends."""
ALIKE_IN_EACH = {"key": "null", "rerun_of": "null"}


def columns_of(url: str, table: str) -> list[str]:
    if url.startswith("sqlite"):
        found = by_hand(url, f"select name from pragma_table_info('holdfast_{table}')")
    else:
        found = by_hand(
            url,
            "select column_name from information_schema.columns"
            f" where table_schema = 'holdfast' and table_name = '{table}'",
        )
    return [str(name) for (name,) in found]


def copy(url: str, table: str, *, source: str, times: int, mark: str) -> None:
    """Store so many copies of a row, under ids of their own."""
    names = [name for name in columns_of(url, table) if name != "id"]
    values = [ALIKE_IN_EACH.get(name, f"row.{name}") for name in names]
    if url.startswith("sqlite"):
        new_id = f"printf('0190aaaa-{mark}-7000-8000-%012x', n)"
        numbers = (
            "(with recursive c(n) as"
            f" (select 1 union all select n + 1 from c where n < {times}) select n from c)"
        )
    else:
        new_id = f"('0190aaaa-{mark}-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
        numbers = f"generate_series(1, {times}) as numbers (n)"
    by_hand(
        url,
        f"insert into {{{table}}} (id, {', '.join(names)})"
        f" select {new_id}, {', '.join(values)} from {{{table}}} as row, {numbers}"
        f" where row.id = '{source}'",
    )


@pytest.mark.timeout(600)
def test_every_page_and_every_list_is_there_before_the_reader_loses_patience(database_url):
    with closing(Site(database_url)) as site:
        there = site.fill(owner="ann")
        jobs = (there.complete, there.queued, there.failed)
        for number, job_id in enumerate(jobs, start=1):
            copy(database_url, "job", source=job_id, times=COPIES, mark=f"{number:04x}")
        copy(database_url, "dead_letter", source=there.failed, times=COPIES, mark="0003")
        client = site.local()
        pages = [path for path in site.console_routes("GET") if "{" not in path]
        lists = [
            path
            for path, operations in site.api.openapi()["paths"].items()
            if "get" in operations and "{" not in path and path.startswith("/api/")
        ]
        asked = sorted({*pages, *lists} - ELSEWHERE)
        filtered = [f"{path}?{each}" for path in ("/jobs", "/api/jobs") for each in FILTERS]
        filtered += [f"/dead-letters?{each}" for each in ("state=open", "stage=nowhere")]

        took_s, answered = {}, {}
        for path in [*asked, *filtered]:
            began_s = time.monotonic()
            answered[path] = client.get(path).status_code
            took_s[path] = time.monotonic() - began_s

    slowest = sorted(((round(took, 2), path) for path, took in took_s.items()), reverse=True)
    print("the slowest:", slowest[:8])
    assert {path for path in asked if answered[path] != OK} == set()
    # A filter that no index knows may look through everything, but not for ever.
    assert {answered[path] for path in filtered} <= {OK, TOO_SLOW}
    assert max(took_s.values()) < STATEMENTS * ApiOptions().read_s
