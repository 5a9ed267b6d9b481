import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.bridges.file import File
from holdfast.core.delivery.delivery import Delivery
from holdfast.core.values.failure import WORKER_LOST
from holdfast.deliveries import DeliveryState
from holdfast.testing.conformance.deliveries import logged
from holdfast.testing.inline import run_inline
from tests.cli import sample_app
from tests.cli.conftest import Command, error_of, lines

NOBODY = "01900000-0000-7000-8000-000000000000"

Make = Callable[..., Delivery]


@pytest.fixture
def app(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holdfast]:
    """The sample application with a file for a provider."""
    mail = tmp_path / "mail"
    monkeypatch.setenv(sample_app.MAIL_VARIABLE, str(mail))
    with Holdfast(database_url, providers=[File(mail, name="mail")]) as made:
        made.store.read_clock()
        yield made


@pytest.fixture
def delivery(app: Holdfast) -> Make:
    """Makes a delivery and brings it into a state."""

    def make(to: str = "jane@example.test", **changes) -> Delivery:
        (view,) = app.deliver("review-1", recipients=[to], message={"text": "hello"})
        if not changes:
            return view.delivery
        written = app.store.deliveries.apply([view.delivery._replace(**changes)])
        return written[view.id]

    return make


@pytest.fixture
def unknown(app: Holdfast, delivery: Make) -> Delivery:
    return delivery(
        state=DeliveryState.UNKNOWN,
        began_at=app.clock.now(),
        attempts=1,
        error_class="WORKER_LOST",
        error=WORKER_LOST.text,
    )


def test_a_delivery_is_shown_with_each_send_and_lookup(
    on_app: Command, app: Holdfast, unknown: Delivery
):
    app.store.deliveries.apply([unknown], log=[logged(unknown)])
    shown = on_app("deliveries", "show", unknown.id)
    as_json = on_app("deliveries", "show", unknown.id, "--json")

    assert "in_doubt" in shown.stdout
    assert "UPSTREAM_5XX" in shown.stdout
    (line,) = lines(as_json.stdout)[0]["log"]
    assert (line["outcome"], line["http_status"]) == ("in_doubt", 503)


def test_the_list_shows_what_is_not_sent_with_recipients_masked(
    on_app: Command, app: Holdfast, unknown: Delivery, delivery: Make
):
    delivery("joe@example.test", state=DeliveryState.SENT, notified_at=app.clock.now())
    result = on_app("deliveries", "list")

    assert result.exit_code == 0
    heading, line = result.stdout.splitlines()
    assert heading.split()[:4] == ["ID", "STATE", "SUBJECT", "RECIPIENT"]
    assert line.split()[:7] == [
        unknown.id,
        "unknown",
        "review-1",
        "j***@example.test",
        "1",
        "mail",
        "1",
    ]
    assert line.endswith("WORKER_LOST")


def test_the_list_is_filtered_and_paged(
    on_app: Command, app: Holdfast, unknown: Delivery, delivery: Make
):
    newer = delivery("joe@example.test")

    def found(*options: str) -> list[str]:
        return [one["id"] for one in lines(on_app("deliveries", "list", "--json", *options).stdout)]

    assert found() == [newer.id, unknown.id]
    assert found("--state", "unknown,failed") == [unknown.id]
    assert found("--recipient", "joe@example.test") == [newer.id]
    assert found("--provider", "mail", "--subject", "review-1") == found()
    assert found("--error-class", "WORKER_LOST") == [unknown.id]
    assert found("--job", NOBODY) == found("--until", "1h") == []
    assert found("--since", "1h") == found()
    assert found("--limit", "1") == [newer.id]
    assert found("--before", newer.id) == [unknown.id]
    page = on_app("deliveries", "list", "--limit", "1")
    assert f"--before {newer.id}" in page.stderr


def test_an_empty_list_and_an_unknown_state_say_what_there_is(on_app: Command, app: Holdfast):
    nothing = on_app("deliveries", "list")
    wrong = on_app("deliveries", "list", "--state", "lost")

    assert (nothing.stdout, nothing.exit_code) == ("", 0)
    assert "--state sent" in nothing.stderr
    assert wrong.exit_code == 2
    assert "intent, sending, sent, failed, unknown" in wrong.stderr


def test_show_says_whose_move_it_is(on_app: Command, unknown: Delivery):
    shown = on_app("deliveries", "show", unknown.id).stdout

    assert "Nobody can tell whether mail has it" in shown
    assert f"holdfast deliveries resolve {unknown.id} --as sent|resend|fail" in shown
    assert unknown.token in shown
    assert "jane" not in shown
    assert "hello" not in shown


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "it is to be sent now"),
        ({"holder": "w-1", "lease_until": 1}, "The courier w-1 is about to send it"),
        (
            {"state": DeliveryState.SENDING, "began_at": 1},
            "mail may have it. A courier finds that out",
        ),
        (
            {
                "state": DeliveryState.SENDING,
                "began_at": 1,
                "holder": "w-1",
                "lease_until": 1,
            },
            "The courier w-1 is sending it",
        ),
        ({"state": DeliveryState.SENT, "notified_at": 1}, "mail accepted it at 1970-01-01"),
        (
            {
                "state": DeliveryState.FAILED,
                "error": WORKER_LOST._replace(message="no such mailbox").text,
                "error_class": "INVALID",
            },
            "mail does not have it, and it is not tried any more",
        ),
    ],
    ids=["intent", "claimed", "doubted", "sending", "sent", "failed"],
)
def test_show_puts_every_state_into_words(
    on_app: Command, delivery: Make, changes: dict, sentence: str
):
    made = delivery(**changes)

    assert sentence in on_app("deliveries", "show", made.id).stdout
    (document,) = lines(on_app("deliveries", "show", made.id, "--json").stdout)
    assert sentence in document["situation"][0]
    assert document["state"] == made.state


def test_a_delivery_that_is_not_there_is_not_found(on_app: Command, app: Holdfast):
    result = on_app("deliveries", "show", NOBODY, "--json")

    assert result.exit_code == 3
    assert "holdfast deliveries list" in error_of(result)["message"]


def test_a_person_says_what_became_of_deliveries_and_it_is_on_record(
    on_app: Command, app: Holdfast, unknown: Delivery
):
    result = on_app("deliveries", "resolve", unknown.id, "--as", "sent", "--reason", "she replied")

    assert (result.exit_code, result.stdout.split()) == (0, [unknown.id, "sent"])
    assert app.deliveries.get(unknown.id).state is DeliveryState.SENT
    shown = on_app("deliveries", "show", unknown.id).stdout
    assert "What was done" in shown
    assert getpass.getuser() in shown
    assert "she replied" in shown


def test_several_are_resolved_at_once(on_app: Command, app: Holdfast, delivery: Make):
    made = [delivery(f"{number}@example.test") for number in range(2)]
    documents = lines(
        on_app(
            *("deliveries", "resolve", made[0].id, made[1].id),
            *("--as", "fail", "--by", "ada", "--json"),
        ).stdout
    )

    assert [document["state"] for document in documents] == ["failed", "failed"]
    assert documents[0]["error_class"] == "WITHDRAWN"


def test_what_was_sent_cannot_be_resolved(on_app: Command, app: Holdfast, delivery: Make):
    sent = delivery(state=DeliveryState.SENT, notified_at=app.clock.now())
    result = on_app("deliveries", "resolve", sent.id, "--as", "resend")

    assert result.exit_code == 4
    assert "new version" in result.stderr


def test_resolving_needs_no_app(holdfast: Command, database_url: str, unknown: Delivery):
    result = holdfast(
        *("deliveries", "resolve", unknown.id, "--as", "resend"),
        *("--database-url", database_url),
    )

    assert (result.exit_code, result.stdout.split()[1]) == (0, "intent")


def test_reconciliation_finds_what_was_sent_and_not_marked(
    on_app: Command, app: Holdfast, delivery: Make
):
    made = delivery()
    run_inline(app)
    sent = app.deliveries.get(made.id).delivery
    app.store.deliveries.apply([made._replace(revision=sent.revision)])
    result = on_app("deliveries", "reconcile", "--since", "1h", "--rate", "100", "--json")

    assert result.exit_code == 0
    (document,) = lines(result.stdout)
    assert (document["checked"], document["found"], document["stopped"]) == (1, 1, False)
    assert app.deliveries.get(made.id).state is DeliveryState.SENT


def test_reconciliation_stops_where_a_provider_knows_nothing_at_all(
    on_app: Command, app: Holdfast, delivery: Make
):
    for number in range(3):
        delivery(
            f"{number}@example.test", state=DeliveryState.SENT, notified_at=app.clock.now() - 1
        )
    result = on_app("deliveries", "reconcile", "--stop-after", "2", "--rate", "100")

    assert result.exit_code == 1
    assert "another account" in result.stderr
    assert result.stdout.split("sent again")[1].split()[0] == "2"


def test_reconciliation_needs_the_app(holdfast: Command, database_url: str, app: Holdfast):
    result = holdfast("deliveries", "reconcile", "--database-url", database_url)

    assert result.exit_code == 2
    assert "leave --database-url out" in result.stderr or "-A" in result.stderr
