import json
import stat
import threading

import pytest
from cryptography.fernet import Fernet

from apps.collabiq.tests.gmail.mailbox import Mailbox
from collabiq.gmail import GmailUnavailable, GrantRevoked, InvalidCredentials, credentials_of
from collabiq.stand_ins.gmail import GmailStandIn


def test_a_token_comes_from_the_secret_and_goes_to_the_file(gmail: Mailbox):
    token = gmail.credentials().token(gmail.now)

    stored = credentials_of(gmail.path.read_text())
    assert stored.token == token
    assert stored.refresh_token == gmail.stand_in.refresh_token
    assert stat.S_IMODE(gmail.path.stat().st_mode) == 0o600
    assert [each.name for each in gmail.path.parent.iterdir()] == [gmail.path.name]


def test_who_reads_the_file_while_it_is_written_gets_all_of_the_old_one(gmail: Mailbox):
    credentials = gmail.credentials()
    credentials.token(gmail.now)
    before = gmail.path.read_text()
    gmail.later(hours=1)

    with gmail.path.open() as reader:
        credentials.token(gmail.now)
        read = reader.read()

    assert read == before != gmail.path.read_text()


def test_a_token_is_used_until_five_minutes_are_left(gmail: Mailbox):
    credentials = gmail.credentials()

    first = credentials.token(gmail.now)
    gmail.later(minutes=54)
    second = credentials.token(gmail.now)
    gmail.later(minutes=2)
    third = credentials.token(gmail.now)

    assert first == second != third
    assert gmail.stand_in.refreshes == 2


def test_the_file_wins_over_the_secret(gmail: Mailbox):
    gmail.credentials().token(gmail.now)
    gmail.secret = "{}"

    assert gmail.credentials().token(gmail.now)
    assert gmail.stand_in.refreshes == 1


def test_the_address_of_the_token_server_may_be_set(gmail: Mailbox):
    document = gmail.stand_in.credentials("https://oauth2.googleapis.com")
    gmail.secret = json.dumps(document)

    assert gmail.credentials(token_uri=f"{gmail.serving.url}/token").token(gmail.now)


def test_an_encrypted_file_is_read_with_its_key_only(gmail: Mailbox):
    key, other = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    token = gmail.credentials(key=key).token(gmail.now)

    assert gmail.stand_in.refresh_token not in gmail.path.read_text()
    assert gmail.credentials(key=key).token(gmail.now) == token
    with pytest.raises(InvalidCredentials, match="not the key"):
        gmail.credentials(key=other).token(gmail.now)
    with pytest.raises(InvalidCredentials, match="is encrypted"):
        gmail.credentials().token(gmail.now)


def test_a_file_from_before_there_was_a_key_is_encrypted_by_the_next_refresh(gmail: Mailbox):
    gmail.credentials().token(gmail.now)
    key = Fernet.generate_key().decode()
    gmail.later(hours=1)

    gmail.credentials(key=key).token(gmail.now)

    assert gmail.path.read_text().startswith("gAAAA")


def test_a_key_that_is_none_is_refused(gmail: Mailbox):
    with pytest.raises(InvalidCredentials, match="GMAIL_ENCRYPTION_KEY"):
        gmail.credentials(key="short")


def test_two_that_refresh_at_once_both_go_on(gmail: Mailbox):
    tokens: list[str] = []
    both = [gmail.credentials(), gmail.credentials()]
    threads = [
        threading.Thread(target=lambda each=each: tokens.append(each.token(gmail.now)))
        for each in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(tokens) == 2
    assert all(gmail.api(each).profile() for each in both)
    assert credentials_of(gmail.path.read_text()).token in tokens


def test_a_file_that_cannot_be_written_does_not_stop_anybody(gmail: Mailbox):
    gmail.path = gmail.path.parent / "no-such-folder" / "token.json"
    credentials = gmail.credentials()

    first, second = credentials.token(gmail.now), credentials.token(gmail.now)

    assert first == second
    assert isinstance(credentials.write_failure, OSError)


def test_a_revoked_grant_is_a_failure_of_its_own(gmail: Mailbox):
    gmail.serving.fault = "token_revoked"

    with pytest.raises(GrantRevoked, match="gmail login") as failed:
        gmail.credentials().token(gmail.now)

    assert gmail.stand_in.refresh_token not in str(failed.value)
    assert len(gmail.serving.calls) == 1


def test_signing_in_again_is_noticed(gmail: Mailbox):
    credentials = gmail.credentials()
    before = credentials.fingerprint()
    gmail.stand_in.refresh_token = "another-refresh-token"
    gmail.secret = json.dumps(gmail.stand_in.credentials(gmail.serving.url))

    assert credentials.fingerprint() != before
    assert credentials.token(gmail.now)


def test_a_token_server_that_fails_is_asked_once(gmail: Mailbox):
    class Failing(GmailStandIn):
        def __call__(self, call):
            return super().__call__(call)._replace(status=503, body=b"{}")

    gmail.serving.stand_in = Failing()

    with pytest.raises(GmailUnavailable):
        gmail.credentials().token(gmail.now)

    assert len(gmail.serving.calls) == 1


def test_a_token_server_that_does_not_answer_is_given_up(gmail: Mailbox):
    gmail.serving.hanging.set()

    with pytest.raises(GmailUnavailable):
        gmail.credentials(timeout_s=0.3).token(gmail.now)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"client_id": "a", "client_secret": 1}'])
def test_credentials_that_are_none_are_refused_without_being_shown(gmail: Mailbox, text):
    gmail.secret = text

    with pytest.raises(InvalidCredentials):
        gmail.credentials().token(gmail.now)


def test_no_credentials_at_all_say_what_to_do(gmail: Mailbox):
    gmail.secret = None

    with pytest.raises(InvalidCredentials, match="gmail login"):
        gmail.credentials().token(gmail.now)
