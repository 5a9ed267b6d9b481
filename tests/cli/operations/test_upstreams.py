import pytest

from holdfast import Holdfast
from holdfast.cli.shell.invocation import os_user
from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import FailedCall, Gate, Permit, Sample, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant
from tests.cli import upstream_app
from tests.cli.conftest import Command, error_of, lines

LET_GO = "is let through; to let go of it: holdfast upstreams reset gateway\n"


@pytest.fixture
def app(database_url: str):
    with Holdfast(database_url, pipelines=[upstream_app.send]) as made:
        made.store.read_clock()
        yield made


@pytest.fixture
def on_app(on_app: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.upstream_app:make")
    return on_app


def put(app: Holdfast, name: str, *, seconds_ago: float = 60, **facts) -> None:
    now = app.clock.now()
    since = Instant(now - int(seconds_ago * SECOND_US))
    state = UpstreamState(name, **{"generation": 1, "since": since, **facts})
    assert app.store.upstreams.save(state, now=now) is not None


def ahead(app: Holdfast, seconds: float) -> Instant:
    return Instant(app.clock.now() + int(seconds * SECOND_US))


def test_upstreams_are_listed_with_what_is_worth_knowing(on_app: Command, app: Holdfast):
    put(app, "gateway", gate=Gate.OPEN, open_until=ahead(app, 3_600), reopenings=2)
    put(app, "half", gate=Gate.HALF_OPEN, permits=(Permit(1, "w", ahead(app, 60)),), successes=1)
    put(app, "held", forced=Gate.OPEN, forced_by="ada", forced_reason="drill")
    put(app, "limited", paused_until=ahead(app, 7_200))
    put(app, "shaky", samples=(Sample(app.clock.now(), "w", 7, 2),))
    put(app, "waiting", gate=Gate.OPEN, open_until=app.clock.now())

    result = on_app("upstreams", "list")
    as_json = lines(on_app("upstreams", "list", "--json").stdout)

    assert result.exit_code == 0
    heading, *rows = result.stdout.splitlines()
    assert heading.split() == ["UPSTREAM", "BREAKER", "SINCE", "UNTIL", "SHARE"]
    told = {row.split()[0]: " ".join(row.split()[1:]) for row in rows}
    assert told["gateway"].startswith("open 1 min ago in 59 min")
    assert told["gateway"].endswith("0% cooling down, 2 trials failed")
    assert told["half"] == "half-open 1 min ago 0% 1 trial under way, 1 succeeded"
    assert told["held"] == "open 1 min ago 0% held open by ada: drill"
    assert told["limited"].endswith("0% asked to be left alone")
    assert told["mail"] == "closed 100%"
    assert told["shaky"] == "closed 1 min ago 2 of 9 failed"
    assert told["waiting"] == "open 1 min ago 0% waits for a trial"
    assert {line["upstream"]: line["breaker"] for line in as_json} == {
        "gateway": "open",
        "half": "half_open",
        "held": "open",
        "limited": "closed",
        "mail": "closed",
        "shaky": "closed",
        "waiting": "open",
    }


def test_the_share_is_told_where_the_app_says_how_long_the_release_takes(
    on_app: Command, holdfast: Command, app: Holdfast, database_url: str
):
    put(app, "gateway", seconds_ago=31)

    on_its_app = lines(on_app("upstreams", "list", "--json").stdout)
    on_a_url = lines(on_app("upstreams", "list", "--json", "--database-url", database_url).stdout)

    assert on_its_app[0]["share"] == 0.6
    assert [(line["upstream"], line["share"]) for line in on_a_url] == [("gateway", None)]


def test_one_is_shown_with_its_record(on_app: Command, app: Holdfast):
    put(app, "gateway", gate=Gate.OPEN, open_until=ahead(app, 3_600), reopenings=1)
    app.upstreams.force_open("gateway", by="ada", reason="drill")

    result = on_app("upstreams", "show", "gateway")
    as_json = lines(on_app("upstreams", "show", "gateway", "--json").stdout)

    assert result.stdout.startswith("Upstream gateway\n")
    assert f"is held open by ada: nothing {LET_GO}" in result.stdout
    assert "because" in result.stdout
    record = result.stdout.partition("Record")[2]
    assert "forced open" in record
    assert "drill" in record
    assert as_json[0]["forced_by"] == "ada"
    assert [(line["action"], line["done_by"], line["at"][-1]) for line in as_json[0]["record"]] == [
        ("forced open", "ada", "Z")
    ]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "The breaker of gateway is closed: calls go through."),
        ({"gate": Gate.HALF_OPEN}, "half-open: trials decide whether it closes."),
        ({"gate": Gate.OPEN, "open_until": Instant(1)}, "is open; the next call is a trial."),
    ],
)
def test_a_sentence_says_how_it_stands(on_app: Command, app: Holdfast, facts, words: str):
    put(app, "gateway", **facts)

    result = on_app("upstreams", "show", "gateway")

    assert words in result.stdout
    assert "Record" not in result.stdout


def test_a_sentence_says_how_long_it_lasts(on_app: Command, app: Holdfast):
    put(app, "gateway", gate=Gate.OPEN, open_until=ahead(app, 3_600))
    put(app, "mail", paused_until=ahead(app, 3_600))

    assert "a trial may be made in 59 min" in on_app("upstreams", "show", "gateway").stdout
    assert "asked to be left alone for another 59 min" in on_app("upstreams", "show", "mail").stdout


def test_a_breaker_is_held_open_closed_and_let_go(on_app: Command, app: Holdfast):
    said = [
        on_app("upstreams", *arguments).stdout
        for arguments in (
            ["open", "gateway", "--by", "ada", "--reason", "drill"],
            ["close", "gateway"],
            ["reset", "gateway"],
        )
    ]

    assert said == [
        f"The breaker of gateway is held open by ada: nothing {LET_GO}",
        f"The breaker of gateway is held closed by {os_user()}: everything {LET_GO}",
        "The breaker of gateway is closed: calls go through.\n",
    ]
    record = app.upstreams.show("gateway").actions
    assert [(one.action, one.done_by, one.reason) for one in record] == [
        ("reset", os_user(), None),
        ("forced closed", os_user(), None),
        ("forced open", "ada", "drill"),
    ]


@pytest.mark.parametrize("command", ["open", "close", "reset"])
def test_what_was_done_is_told_as_json(on_app: Command, app: Holdfast, command: str):
    result = on_app("upstreams", command, "gateway", "--by", "ada", "--json")

    (told,) = lines(result.stdout)
    assert told["breaker"] == ("open" if command == "open" else "closed")
    assert told["forced_by"] == (None if command == "reset" else "ada")


@pytest.mark.parametrize("command", ["show", "open", "close", "reset"])
def test_a_name_that_nobody_knows_is_not_found(on_app: Command, app: Holdfast, command: str):
    result = on_app("upstreams", command, "gatway", "--json")

    assert result.exit_code == 3
    assert error_of(result)["code"] == "unknown_upstream"
    assert "known: gateway, mail" in result.stderr
    assert app.store.upstreams.all() == []


def test_a_reason_that_cannot_be_shown_is_refused(on_app: Command, app: Holdfast):
    result = on_app("upstreams", "open", "gateway", "--reason", "a\x07b")

    assert result.exit_code == 2
    assert app.store.upstreams.all() == []


def test_without_upstreams_the_data_is_empty(holdfast: Command, database_url: str):
    with Holdfast(database_url) as app:
        app.store.read_clock()

    result = holdfast("upstreams", "list", "--database-url", database_url)

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No stage calls an upstream, and nothing is known about any.\n"


class TestAJobThatItsUpstreamHolds:
    @pytest.fixture
    def held(self, app: Holdfast) -> str:
        put(app, "gateway", gate=Gate.OPEN, open_until=ahead(app, 3_600))
        return app.submit("send", {"pdf": "a"}).id

    def test_says_so_and_where_to_look(self, on_app: Command, app: Holdfast, held: str):
        shown = on_app("jobs", "show", held)
        document = lines(on_app("jobs", "show", held, "--json").stdout)[0]

        assert "Held: the breaker of upstream gateway is open. It is tried again in " in (
            shown.stdout
        )
        assert "To look at it: holdfast upstreams show gateway" in shown.stdout
        assert "state     held" in shown.stdout
        assert (document["label"], document["waiting"]["reason"]) == ("held", "upstream")
        assert document["waiting"]["until"] is not None

    def test_is_listed_as_held(self, on_app: Command, held: str):
        (_, row) = on_app("jobs", "list").stdout.splitlines()

        assert row.split()[:4] == [held, "send", "convert", "held"]
        assert row.endswith("the breaker of upstream gateway is open")

    def test_is_told_by_the_doctor(self, on_app: Command, held: str):
        told = on_app("doctor").stdout

        assert "The breaker of gateway is open" in told
        assert "1 job waits for it." in told

    def test_says_the_same_where_no_app_is_loaded(
        self, holdfast: Command, database_url: str, held: str
    ):
        shown = holdfast("jobs", "show", held, "--database-url", database_url)

        assert "Held: the breaker of upstream gateway is open." in shown.stdout


def test_why_a_breaker_opened_is_shown_with_the_jobs_that_it_holds(on_app: Command, app: Holdfast):
    held = app.submit("send", {"pdf": "a"}).id
    failed_at = Instant(app.clock.now() - 5 * SECOND_US)
    put(
        app,
        "gateway",
        gate=Gate.OPEN,
        open_until=ahead(app, 3_600),
        reason="3 calls in a row failed",
        failures=(FailedCall(failed_at, "UPSTREAM_5XX", "503 overloaded", held),),
    )

    shown = on_app("upstreams", "show", "gateway").stdout
    (document,) = lines(on_app("upstreams", "show", "gateway", "--json").stdout)

    assert "is open because 3 calls in a row failed; a trial may be made in 59 min" in shown
    assert "Failures that opened it" in shown
    assert held in shown
    assert "503 overloaded" in shown
    assert "holdfast jobs list --label held --pipeline send --stage convert" in shown
    assert document["reason"] == "3 calls in a row failed"
    assert document["held_jobs"] == 1
    (call,) = document["failures"]
    assert (call["error_class"], call["message"], call["job_id"]) == (
        "UPSTREAM_5XX",
        "503 overloaded",
        held,
    )


def test_the_next_call_waits_for_the_pause_and_for_the_cooldown(on_app: Command, app: Holdfast):
    put(
        app,
        "gateway",
        gate=Gate.OPEN,
        open_until=ahead(app, 7_200),
        paused_until=ahead(app, 3_600),
    )

    (document,) = lines(on_app("upstreams", "show", "gateway", "--json").stdout)
    shown = on_app("upstreams", "show", "gateway").stdout

    assert document["until"] > document["paused_until"]
    assert "(in 1 h 59 min)" in shown


def test_the_rate_of_an_upstream_is_shown_also_where_it_is_not_declared(
    on_app: Command, app: Holdfast
):
    now = app.clock.now()
    bucket = Bucket(
        "notion",
        full_at=Instant(now + 100 * SECOND_US),
        begun=40,
        lapsed=2,
        short_at=now,
        calls=1,
        per_us=60 * SECOND_US,
        burst=1,
    )
    assert app.store.upstreams.save_bucket(bucket, now=now) is not None

    listed = on_app("upstreams", "list").stdout
    shown = on_app("upstreams", "show", "notion").stdout
    (document,) = lines(on_app("upstreams", "show", "notion", "--json").stdout)

    (row,) = (line for line in listed.splitlines() if line.startswith("notion"))
    assert row.endswith("1 call in 60 s, 1 at once, and jobs wait for room")
    assert "calls go through, 1 call in 60 s, 1 at once; jobs wait for room." in shown
    assert "none for " in shown
    rate = document["rate"]
    assert (rate["calls"], rate["per_seconds"], rate["burst"]) == (1, 60.0, 1)
    assert (rate["room"], rate["begun"], rate["short"], rate["out"]) == (0, 42, True, 0)


def test_an_upstream_without_a_rate_has_none(on_app: Command, app: Holdfast):
    (document,) = lines(on_app("upstreams", "show", "mail", "--json").stdout)

    assert document["rate"] is None
    assert "rate" not in on_app("upstreams", "show", "mail").stdout
