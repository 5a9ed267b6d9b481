"""`holdfast dead replay` and `replays`, with workers at hand."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast import GiveUp, Holdfast, JobState, Pipeline
from holdfast.core.dead_letter.replay import ReplayState
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing.inline import run_inline
from tests.cli.conftest import Command, error_of, lines
from tests.cli.terminal import environment, on_terminal
from tests.warm.process import WarmProcess

NOBODY = "01900000-0000-7000-8000-000000000000"
READY = ("--cause", "transient", "--evidence", "INC-7: it answers again")


class Gateway:
    """An upstream that is down for all, until somebody says for whom."""

    down_for: set[str] | None = None


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def app(database_url: str, gateway: Gateway) -> Iterator[Holdfast]:
    pipeline = Pipeline("orders")

    @pipeline.stage
    def ship(job, name: str) -> str:
        if gateway.down_for is None or name in gateway.down_for:
            raise GiveUp("GATEWAY_DOWN", f"no answer for {name}")
        return name

    with Holdfast(database_url, pipelines=[pipeline]) as made:
        made.store.read_clock()
        yield made


@pytest.fixture
def on_database(holdfast: Command, database_url: str) -> Command:
    """Runs a command on the database, without an application."""

    def run(*arguments: object, **options: object):
        return holdfast(*arguments, "--database-url", database_url, **options)

    return run


@pytest.fixture
def letters(app: Holdfast, gateway: Gateway) -> Callable[..., list[str]]:
    """Makes dead letters, and mends the gateway."""

    def make(*names: str, keys: bool = True) -> list[str]:
        gateway.down_for = None
        ids = [app.submit("orders", {"name": n}, key=n if keys else None).id for n in names]
        run_inline(app)
        # The worker of the test may have taken one of them.
        while any(app.job(job_id).state is not JobState.FAILED for job_id in ids):
            time.sleep(0.01)
        gateway.down_for = set()
        return ids

    return make


@pytest.fixture
def worker(app: Holdfast) -> Iterator[None]:
    """Runs what is due, as a worker elsewhere would."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            run_inline(app)
            time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


def remediated(app: Holdfast, *ids: str) -> None:
    for letter_id in ids:
        app.dead.triage(letter_id, cause="transient", by="ada")
        app.dead.remediate(letter_id, evidence="INC-7", by="ada")


def states(app: Holdfast, ids: list[str]) -> list[JobState]:
    return [app.job(job_id).state for job_id in ids]


def test_one_letter_is_sent_back(on_database: Command, app: Holdfast, letters):
    (letter,) = letters("a")
    remediated(app, letter)

    result = on_database("dead", "replay", letter, "--reason", "it is back", "--by", "bob")

    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{letter}  replaying\n"
    assert f"holdfast jobs show {letter}" in result.stderr
    last = app.history(letter)[-1]
    assert (last.event, last.meta["by"], last.meta["reason"]) == ("revived", "bob", "it is back")


def test_a_letter_that_is_not_next_says_what_is(on_database: Command, app: Holdfast, letters):
    (letter,) = letters("a", keys=False)

    early = on_database("dead", "replay", letter, "--json")
    remediated(app, letter)
    unsure = on_database("dead", "replay", letter)
    sure = on_database("dead", "replay", letter, "--safe-to-repeat", "--from-start")
    unknown = on_database("dead", "replay", NOBODY)

    assert (early.exit_code, error_of(early)["missing"]) == (4, "triage")
    assert (unsure.exit_code, "--safe-to-repeat" in unsure.stderr) == (4, True)
    assert sure.exit_code == 0
    assert app.job(letter).job.run == 2
    assert unknown.exit_code == 3


def test_each_of_several_letters_has_a_result_of_its_own(
    on_database: Command, app: Holdfast, letters
):
    ready, unready = letters("a", "b")
    remediated(app, ready)

    result = on_database("dead", "replay", ready, unready, NOBODY, "--json")
    told = on_database("dead", "replay", unready, NOBODY)
    refused = on_database("dead", "replay", ready, unready)

    found = {line["id"]: line for line in lines(result.stdout)}
    assert result.exit_code == 1
    assert (found[ready]["changed"], found[ready]["standing"]) == (True, "replaying")
    assert found[unready]["error"]["code"] == "step_missing"
    assert found[NOBODY]["error"]["code"] == "unknown_letter"
    assert (told.exit_code, len(told.stderr.splitlines())) == (1, 2)
    assert refused.exit_code == 4


def test_a_preview_tells_what_would_be_sent_and_what_not(
    on_database: Command, app: Holdfast, letters
):
    ids = letters("a", "b", "c")
    remediated(app, *ids[:2])

    shown = on_database("dead", "replay", "--error-class", "GATEWAY_DOWN", "--preview")
    document = json.loads(
        on_database("dead", "replay", "-p", "orders", "--preview", "--json", *READY).stdout
    )
    nothing = on_database("dead", "replay", "--stage", "fetch", "--preview")

    assert shown.exit_code == 0
    assert shown.stdout.startswith("2 of 3 letters would be replayed.\n")
    for expected in ("2  GATEWAY_DOWN", "2  orders", "2  ship", "1  it has not been triaged"):
        assert expected in shown.stdout
    assert f"{ids[0]}  GATEWAY_DOWN in ship: no answer for a" in shown.stdout
    assert (document["letters"], document["ready"], document["skipped"]) == (3, 3, {})
    assert nothing.stdout == "No dead letters match.\n"
    assert states(app, ids) == [JobState.FAILED] * 3


def test_a_group_is_replayed_to_its_end(on_database: Command, app: Holdfast, letters, worker):
    ids = letters(*"abcde")
    group = app.dead.groups()[0].fingerprint

    result = on_database(
        *("dead", "replay", "--group", group, *READY, "--rate", "200", "--yes"),
        *("--name", "INC-7", "--reason", "it is back", "--by", "ada"),
    )

    assert result.exit_code == 0, result.stderr
    (view,) = app.replays.latest()
    assert result.stdout == f"Replay {view.id} is done: 5 succeeded, 0 failed again.\n"
    # The worker of this process may have yet to log how the jobs died.
    said = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert said == [
        "5 letters will be replayed.",
        f"Replay {view.id}: INC-7.",
        "Sending 1 letter first; the rest waits for it.",
    ]
    assert states(app, ids) == [JobState.COMPLETE] * 5


def test_a_canary_that_fails_stops_it_and_that_is_no_success(
    on_database: Command, app: Holdfast, letters, worker, gateway: Gateway
):
    ids = letters(*"abc")
    gateway.down_for = {"a"}

    result = on_database("dead", "replay", "-p", "orders", *READY, "--yes")

    (view,) = app.replays.latest()
    assert result.exit_code == 1
    assert result.stdout == (
        f"Replay {view.id} is stopped (the canary failed: 1 job failed again): "
        "0 succeeded, 1 failed again, 2 not sent.\n"
    )
    assert view.replay.name == "GATEWAY_DOWN in ship"
    assert states(app, ids) == [JobState.FAILED] * 3


def test_the_stop_rule_and_no_canary_as_json(
    on_database: Command, app: Holdfast, letters, worker, gateway: Gateway
):
    letters(*"abcdefgh")
    gateway.down_for = {"b", "c"}

    result = on_database(
        *("dead", "replay", "-p", "orders", *READY, "--yes", "--json"),
        *("--canary", "0", "--rate", "20", "--stop-after", "2"),
    )

    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["state"], document["note"]) == ("stopped", "2 jobs failed again")
    assert document["counts"]["failed_again"] == 2
    assert document["counts"]["pending"] > 0


def test_without_yes_nothing_is_sent_where_nobody_can_answer(
    on_database: Command, app: Holdfast, letters
):
    ids = letters("a", "b")

    result = on_database("dead", "replay", "-p", "orders", *READY, input="y\n")

    assert result.exit_code == 2
    assert "2 letters will be replayed. Say --yes to do it, or --preview" in result.stderr
    assert states(app, ids) == [JobState.FAILED] * 2
    assert app.replays.latest() == []


def test_where_none_can_be_replayed_the_reasons_are_told(on_database: Command, letters):
    letters("a", "b")

    refused = on_database("dead", "replay", "-p", "orders", "--yes")
    nothing = on_database("dead", "replay", "-p", "others", "--yes")

    assert refused.exit_code == 4
    assert "0 of 2 letters would be replayed." in refused.stdout
    assert "2  it has not been triaged" in refused.stdout
    assert (nothing.exit_code, nothing.stdout) == (0, "No dead letters match.\n")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [("y\r", (0, "is done: 2 succeeded")), ("n\r", (1, "Nothing was changed."))],
    ids=["yes", "no"],
)
@pytest.mark.usefixtures("worker")
def test_on_a_terminal_a_person_is_asked_and_watches(
    database_url: str, letters, keys: str, expected: tuple[int, str]
):
    letters("a", "b")

    session = on_terminal(
        ["dead", "replay", "-p", "orders", *READY],
        environment(database_url),
        keys=keys,
        seen="Go on?",
    )

    exit_code, said = expected
    assert "1 first, the rest once it has completed, 10 a second" in session.plain
    assert "2 letters will be replayed. Go on? [y/N]:" in session.plain
    assert session.exit_code == exit_code
    assert said in session.plain


def test_a_replay_is_resumed_by_its_id(
    on_database: Command, app: Holdfast, letters, worker, database_url: str
):
    letters(*"abc")
    replay = app.replays.start(
        "INC-7", LetterFilter(), by="ada", cause="transient", evidence="seen", rate=100
    )
    app.replays.advance(replay.id)

    result = on_database("dead", "replay", "--resume", replay.id)
    again = on_database("dead", "replay", "--resume", replay.id)
    unknown = on_database("dead", "replay", "--resume", NOBODY)

    assert result.exit_code == 0, result.stderr
    assert f"Replay {replay.id} is done: 3 succeeded, 0 failed again." in result.stdout
    assert (again.exit_code, "it is done" in again.stderr) == (4, True)
    assert unknown.exit_code == 3


def test_a_replay_broken_off_says_how_to_go_on(app: Holdfast, database_url: str, letters):
    letters("a", "b")

    # Nobody works, so that the canary never completes.
    with WarmProcess(
        [sys.executable, "-m", "holdfast", "dead", "replay", "-p", "orders", *READY, "--yes"],
        env=environment(database_url),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Sending 1 letter first"):
                break
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()

    (view,) = app.replays.latest()
    assert process.returncode == 130
    assert f"Broken off. To go on: holdfast dead replay --resume {view.id}\n" in said


WRONG = {
    "nothing": ([], "say which letters to replay"),
    "both": (["x", "--stage", "ship"], "name letters by id, or give a filter, not both"),
    "a state of one": (["x", "--state", "open"], "not both"),
    "a canary of one": (["x", "--canary", "1"], "are for a group of letters"),
    "a preview of one": (["x", "--preview"], "are for a group of letters"),
    "other terms": (["--resume", "x", "--rate", "1"], "on the terms it was started with"),
    "a negative rate": (["-p", "orders", "--rate", "-1"], "--rate"),
    "evidence alone": (["-p", "orders", "--evidence", "seen", "--yes"], "given together"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_a_replay_that_is_not_clear_is_refused(
    on_database: Command, app: Holdfast, letters, arguments: list[str], message: str
):
    letters("a")

    result = on_database("dead", "replay", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr
    assert app.replays.latest() == []


def test_replays_are_listed_shown_and_cancelled(on_database: Command, app: Holdfast, letters):
    nothing = on_database("dead", "replays")
    ids = letters("a", "b")
    remediated(app, ids[0])
    view = app.replays.start("INC-7", LetterFilter(), by="ada", reason="it is back")
    app.replays.advance(view.id)

    listed = on_database("dead", "replays")
    shown = on_database("dead", "replays", view.id)
    as_json = lines(on_database("dead", "replays", "--json").stdout)
    one = json.loads(on_database("dead", "replays", view.id, "--json").stdout)
    cancelled = on_database("dead", "replays", view.id, "--cancel", "--reason", "not today")
    twice = on_database("dead", "replays", view.id, "--cancel")
    which = on_database("dead", "replays", "--cancel")

    assert nothing.stderr == "There are no replays.\n"
    line = listed.stdout.splitlines()[1]
    assert line.split()[:3] == [view.id, "canary", "2"]
    assert line.endswith("ada  INC-7: 0 succeeded, 0 failed again, 1 under way, 1 skipped")
    for expected in ("it is back", "10 a second", "under way", "it has not been triaged", ids[1]):
        assert expected in shown.stdout
    assert [document["name"] for document in as_json] == ["INC-7"]
    assert [item["state"] for item in one["items"]] == ["sent", "skipped"]
    assert (cancelled.exit_code, cancelled.stdout) == (0, f"{view.id}  cancelled\n")
    assert (twice.exit_code, which.exit_code) == (4, 2)
    assert app.replays.show(view.id).state is ReplayState.CANCELLED
