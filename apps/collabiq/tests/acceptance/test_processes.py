"""Processes that are killed, and several on one database."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.acceptance.deployed import NAMES, PATIENCE_S, Deployed, deployed
from tests.deployed.process import eventually

pytestmark = pytest.mark.timeout(600)
CREATE = ("POST", "/v1/pages")
LOOKUP = ("POST", "/{rows}/query")
COMPANY_LOOKUP = ("POST", "/{companies}/query")
MAKES_COMPANIES = {"NOTION_CREATE_COMPANIES": "1"}
POINTS = ("run.after", "apply.before", "apply.after")
MAILS = 15
LEAST_STEPS, MAX_STEPS = 5, 15


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "after", "done_before"),
    [(COMPANY_LOOKUP, 1, False), (CREATE, 0, False), (CREATE, 0, True), (CREATE, 1, True)],
    ids=["in its lookup", "before it was made", "after it was made", "after the row was made"],
)
def test_a_process_that_is_killed_while_a_company_is_made_leaves_one_company_and_one_row(
    fleet: Deployed,
    at: tuple[str, str],
    after: int,
    done_before: bool,  # noqa: FBT001 - as pytest gives it
):
    fleet.deliver(1)
    first = fleet.start(**MAKES_COMPANIES)
    method, part = at
    part = part.format(companies=fleet.companies_source)
    fleet.kill_at(method, part, done_before=done_before, after=after)
    first.ended()
    made_before = len(fleet.companies())
    fleet.start(**MAKES_COMPANIES)
    counts = fleet.ended(1)

    assert made_before == (at == CREATE and done_before)
    assert counts["needs_review"] == 1
    assert fleet.companies() == [NAMES[0]]
    assert list(email_ids(fleet).values()) == [1]
    [page] = fleet.pages()
    assert len(page["properties"]["스타트업명"]["relation"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_is_killed_at_any_step_leaves_one_company_and_one_row(
    fleet: Deployed, point: str
):
    """The first is killed at the first step of a mail, the next at the second of another."""
    killed = 0
    for step in range(1, MAX_STEPS):
        fleet.deliver(1, first=step)
        doomed = fleet.start(HOLDFAST_FAILPOINTS=f"{point}=kill:{step}", **MAKES_COMPANIES)
        eventually(
            lambda life=doomed, count=step: life.has_ended or fleet.ends_of(count),
            "it was killed, or the mail has ended",
            patience_s=PATIENCE_S,
        )
        if not doomed.has_ended:
            break
        killed += 1
        healthy = fleet.start(**MAKES_COMPANIES)
        fleet.ended(step)
        healthy.kill()
    counts = fleet.ended(step)

    assert killed >= LEAST_STEPS
    assert counts["needs_review"] == step
    assert Counter(fleet.companies()) == Counter(NAMES[1 : step + 1])
    assert list(email_ids(fleet).values()) == [1] * step


def test_two_processes_write_each_mail_once_and_poll_one_at_a_time(
    fleet_on_postgres: Deployed,
):
    fleet = fleet_on_postgres
    fleet.deliver(MAILS)
    fleet.start()
    fleet.start()
    counts = fleet.ended(MAILS)
    fetched = Counter(path for _, method, path in fleet.gmail.calls if "/messages/" in path)

    assert counts["needs_review"] == MAILS
    assert sorted(email_ids(fleet).values()) == [1] * MAILS
    assert set(fetched.values()) == {1}
