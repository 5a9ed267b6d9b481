"""`collabiq email verify` and `collabiq gmail watch` against the stand-in of Gmail."""

import json
from datetime import UTC, datetime

from collabiq.samples import mailbox

TOPIC = "projects/example/topics/collabiq"


def test_a_mailbox_that_can_be_read_is_verified_with_what_the_query_finds(run, world):
    world.world.deliver(mailbox()[:3])

    done = run("email", "verify", "--json")
    shown = run("email", "verify")

    found = json.loads(done.stdout)
    assert done.exit_code == shown.exit_code == 0
    assert found["signed_in_as"] == world.world.gmail.address
    assert found["found"] == 3
    assert "mails found: 3" in shown.stdout


def test_credentials_that_were_revoked_end_with_2_and_what_to_do(run, world):
    world.world.gmail.expire_tokens()
    world.servings["gmail"].fault = "token_revoked"

    done = run("email", "verify")

    assert done.exit_code == 2
    assert "collabiq gmail login" in done.stderr
    assert "Traceback" not in done.output


def test_without_a_mailbox_it_says_what_to_set(run, environment):
    del environment["EMAIL_ADDRESS"]

    done = run("email", "verify")

    assert done.exit_code == 2
    assert "EMAIL_ADDRESS" in done.stderr


def test_a_mailbox_that_does_not_answer_ends_with_3(run, world):
    world.servings["gmail"].close()

    done = run("email", "verify", "--json")

    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["code"] == 3


def test_gmail_announces_mails_to_a_topic_for_days(run, environment):
    environment["GMAIL_TOPIC"] = TOPIC

    done = run("gmail", "watch", "--json")
    other = run("gmail", "watch", "--topic", f"{TOPIC}-2")

    found = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    assert found["topic"] == TOPIC
    assert datetime.fromisoformat(found["expires_at"]) > datetime.now(UTC)
    assert f"{TOPIC}-2" in other.stdout


def test_without_a_topic_it_says_what_to_set(run):
    done = run("gmail", "watch")

    assert done.exit_code == 2
    assert "GMAIL_TOPIC" in done.stderr
