"""Several dead letters moved by one command: each by its id, or all of a group closed."""

from collections.abc import Callable, Iterator

import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.core.dead_letter.dead_letter import Standing
from holdfast.testing.inline import run_inline
from tests.cli.conftest import Command, lines
from tests.cli.terminal import environment, on_terminal

NOBODY = "01900000-0000-7000-8000-000000000000"

Letters = Callable[[int], list[str]]


class Gateway:
    up = False

    def call(self, job, n: int) -> int:
        if not self.up:
            raise GiveUp("GATEWAY_DOWN", "no answer")
        return n


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def app(database_url: str, gateway: Gateway) -> Iterator[Holdfast]:
    pipeline = Pipeline("orders")
    pipeline.stage(name="call")(gateway.call)
    with Holdfast(database_url, pipelines=[pipeline]) as made:
        yield made


@pytest.fixture
def letters(app: Holdfast) -> Letters:
    """Makes that many dead letters."""

    def make(count: int) -> list[str]:
        ids = [app.submit("orders", {"n": n}, key=f"k-{n}").id for n in range(count)]
        run_inline(app)
        return ids

    return make


@pytest.fixture
def one_verified(app: Holdfast, letters: Letters, gateway: Gateway) -> str:
    """A letter whose replayed job is complete."""
    ids = letters(1)
    verified(app, gateway, ids)
    return ids[0]


@pytest.fixture
def dead(holdfast: Command, database_url: str) -> Command:
    """Runs a command on the letters."""
    return lambda *arguments: holdfast("--database-url", database_url, "dead", *arguments)


def replayed(app: Holdfast, letter_ids: list[str]) -> None:
    """Work through the letters and send their jobs back; nobody runs them."""
    for letter_id in letter_ids:
        app.dead.triage(letter_id, cause="transient", by="ada")
        app.dead.remediate(letter_id, evidence="it answers", by="ada")
        app.dead.replay(letter_id, by="ada")


def verified(app: Holdfast, gateway: Gateway, letter_ids: list[str]) -> None:
    replayed(app, letter_ids)
    gateway.up = True
    run_inline(app)


def standings(app: Holdfast, letter_ids: list[str]) -> list[Standing]:
    return [app.dead.get(letter_id).standing for letter_id in letter_ids]


def group_of(app: Holdfast, letter_id: str) -> str:
    return app.dead.get(letter_id).letter.fingerprint


def test_several_letters_take_a_step_each_with_a_result_of_its_own(
    dead: Command, app: Holdfast, letters: Letters
):
    first, second, third = letters(3)
    app.dead.resolve(third, note="not needed", by="ada", unreplayed=True)

    triaged = dead("triage", first, second, NOBODY, "--cause", "transient", "--json")
    remediated = dead("remediate", first, second, third, "--evidence", "it answers")
    resolved = dead("resolve", first, second, "--unreplayed", "--note", "obsolete")

    found = {line["id"]: line for line in lines(triaged.stdout)}
    assert triaged.exit_code == 1
    assert (found[first]["standing"], found[first]["changed"]) == ("triaged", True)
    assert found[NOBODY]["error"]["code"] == "unknown_letter"
    assert remediated.exit_code == 1
    assert remediated.stdout == f"{first}  remediated\n{second}  remediated\n"
    assert resolved.exit_code == 0
    assert standings(app, [first, second]) == ["resolved", "resolved"]


def test_of_a_group_the_letters_whose_jobs_completed_are_closed(
    dead: Command, app: Holdfast, letters: Letters, gateway: Gateway
):
    ids = letters(5)
    verified(app, gateway, ids[:3])
    group = group_of(app, ids[0])

    result = dead("resolve", "--group", group, "--note", "delivered", "--by", "ada", "--yes")

    assert result.exit_code == 0, result.stderr
    assert result.stdout == "3 letters closed; 2 cannot be yet.\n"
    assert standings(app, ids) == ["resolved"] * 3 + ["open"] * 2
    newest = app.dead.show(ids[0]).actions[0]
    assert (newest.action, newest.done_by, newest.reason) == ("resolved", "ada", "delivered")


def test_a_group_that_nobody_needs_is_dismissed_but_not_what_is_under_way(
    dead: Command, app: Holdfast, letters: Letters
):
    ids = letters(3)
    replayed(app, ids[:1])
    group = group_of(app, ids[0])

    result = dead("resolve", "--group", group, "--note", "obsolete", "--unreplayed", "-y", "--json")

    assert lines(result.stdout) == [{"matched": 3, "changed": 2}]
    assert standings(app, ids) == ["replaying", "resolved", "resolved"]
    assert app.dead.show(ids[1]).actions[0].action == "dismissed"


def test_where_none_can_be_closed_nothing_is_asked_and_that_is_no_success(
    dead: Command, app: Holdfast, letters: Letters
):
    (letter_id,) = letters(1)

    none_yet = dead("resolve", "--group", group_of(app, letter_id), "--note", "delivered")
    nothing = dead("resolve", "--group", "0" * 16, "--note", "delivered")

    assert (none_yet.exit_code, none_yet.stdout) == (4, "0 letters closed; 1 cannot be yet.\n")
    assert (nothing.exit_code, nothing.stdout) == (0, "No dead letters match.\n")


def test_without_yes_nothing_is_closed_where_nobody_can_answer(
    dead: Command, app: Holdfast, letters: Letters, gateway: Gateway
):
    ids = letters(2)
    verified(app, gateway, ids)

    result = dead("resolve", "--pipeline", "orders", "--note", "delivered")

    assert result.exit_code == 2
    assert "2 letters will be closed. Say --yes to do it" in result.stderr
    assert standings(app, ids) == ["verified", "verified"]


@pytest.mark.parametrize(("answer", "standing"), [("n", "verified"), ("y", "resolved")])
def test_on_a_terminal_a_person_is_asked(
    database_url: str, app: Holdfast, one_verified: str, answer: str, standing: str
):
    arguments = ["dead", "resolve", "--group", group_of(app, one_verified), "--note", "delivered"]

    shown = on_terminal(arguments, environment(database_url), keys=f"{answer}\r", seen="Go on?")

    assert "1 letter will be closed. Go on? [y/N]:" in shown.plain
    assert standings(app, [one_verified]) == [standing]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "say which letters to resolve"),
        ((NOBODY, "--pipeline", "orders"), "not both"),
    ],
)
def test_which_letters_are_meant_has_to_be_clear(
    dead: Command, letters: Letters, arguments: tuple[str, ...], complaint: str
):
    letters(1)

    result = dead("resolve", *arguments, "--note", "delivered")

    assert result.exit_code == 2
    assert complaint in result.stderr
