"""Which of its databases, or engines, a test that takes long runs on in `make test`.

What starts processes, servers or a browser takes long, and what is served, said and sent there
comes from the engine, whose own tests run on both databases. Such tests take turns: of one and the
same test on both databases, one is marked `slow`. Which one follows from its name, so that about
half of them run on each. In `make test-slow`, and where no mark is asked for, both run. Files from
strangers take such turns on the two engines of the converter's gateway.

What the engine does on a store, and what a system does on the engine, takes such turns as well:
that both databases do the same is what the conformance tests of the store are for, and those run
on both every time. So do tests that notice a fault planted in the store: it may be one of a single
database.

What the store does through a pooler it does on PostgreSQL itself in every run: one in three of
those tests is in `make test`. What a page does in a browser rests on routes that are tested without
one: every other of those tests is, and all that notice a planted fault.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import pytest

TAKES_TURNS = re.compile(
    r"tests/(?:alerts|api|bridges|cli|console|crash|engine|frameworks|lab|letter_files|metrics"
    r"|runtime)/|apps/"
)
ONE_IN = {
    re.compile(r"tests/store/postgres/pgbouncer/test_conformance_through_pgbouncer"): 3,
    re.compile(
        r"apps/\w+/tests/pages/|apps/\w+/tests/acceptance/test_page\.|tests/console/browser/"
    ): 2,
}
FAULTS = Path(__file__).parents[2] / "mutants" / "faults"
OF_ONE_DATABASE = "src/holdfast/store/"
_EITHER = re.compile(r"(?<=[\[-])(?:sqlite|postgres|poppler|pdfminer)(?=[\]-])")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark before the marks are looked at."""
    always, never_left_out = named_by_faults(OF_ONE_DATABASE), named_by_faults()
    found = [
        item
        for item in items
        if TAKES_TURNS.match(item.nodeid)
        and not item.nodeid.startswith(always)
        and item.get_closest_marker("slow") is None
    ]
    waiting = whose_turn_it_is_not([item.nodeid for item in found])
    for item in items:
        if item.nodeid in waiting or (
            is_left_out(item.nodeid) and not item.nodeid.startswith(never_left_out)
        ):
            item.add_marker(pytest.mark.slow)


def named_by_faults(planted_in: str = "") -> tuple[str, ...]:
    """Return tests, files and folders by which faults planted in these files are noticed."""
    lists = [tomllib.loads(file.read_text("utf-8")) for file in sorted(FAULTS.glob("*.toml"))]
    return tuple(
        {
            test.partition("[")[0]
            for document in lists
            for fault in document["fault"]
            if fault["file"].startswith(planted_in)
            for test in fault["tests"]
        }
    )


def whose_turn_it_is_not(names: Iterable[str]) -> set[str]:
    """Return the names of tests whose twins, on the other database or engine, run now."""
    twins: dict[str, list[str]] = defaultdict(list)
    for name in names:
        twins[_EITHER.sub("database", name, count=1)].append(name)
    return {
        twin
        for shared, alike in twins.items()
        for place, twin in enumerate(sorted(alike))
        if place != crc32(shared.encode()) % len(alike)
    }


def is_left_out(name: str) -> bool:
    """Return whether a test is one of those of which a sample runs."""
    return any(
        tests.match(name) is not None and crc32(name.encode()) % one_in != 0
        for tests, one_in in ONE_IN.items()
    )
