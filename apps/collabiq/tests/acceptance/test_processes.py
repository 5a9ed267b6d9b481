"""Processes that are killed, and several on one database."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.acceptance.deployed import Deployed, deployed

pytestmark = pytest.mark.timeout(300)
CREATE = ("POST", "/v1/pages")
LOOKUP = ("POST", "/{rows}/query")


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Deployed]:
    with deployed(database_url, tmp_path) as made:
        yield made


@pytest.fixture
def fleet_on_postgres(postgres_url: str, tmp_path: Path) -> Iterator[Deployed]:
    with deployed(postgres_url, tmp_path) as made:
        yield made


def email_ids(fleet: Deployed) -> Counter[str]:
    """Return how many rows each mail has."""
    return Counter(
        page["properties"]["Email ID"]["rich_text"][0]["plain_text"] for page in fleet.pages()
    )


@pytest.mark.parametrize(
    ("at", "done_before"),
    [(CREATE, True), (CREATE, False), (LOOKUP, False)],
    ids=["after the row was made", "before the row was made", "in a lookup"],
)
def test_a_process_that_is_killed_at_a_request_leaves_one_row(
    fleet: Deployed,
    at: tuple[str, str],
    done_before: bool,  # noqa: FBT001 - as pytest gives it
):
    fleet.deliver(1)
    first = fleet.start()
    method, part = at
    fleet.kill_at(method, part.format(rows=fleet.rows_source), done_before=done_before)
    first.ended()
    fleet.start()
    counts = fleet.ended(1)

    assert counts["needs_review"] == 1
    assert list(email_ids(fleet).values()) == [1]


def test_two_processes_write_each_mail_once_and_poll_one_at_a_time(
    fleet_on_postgres: Deployed,
):
    fleet = fleet_on_postgres
    fleet.deliver(40)
    fleet.start()
    fleet.start()
    counts = fleet.ended(40)
    fetched = Counter(path for _, method, path in fleet.gmail.calls if "/messages/" in path)

    assert counts["needs_review"] == 40
    assert sorted(email_ids(fleet).values()) == [1] * 40
    assert set(fetched.values()) == {1}
