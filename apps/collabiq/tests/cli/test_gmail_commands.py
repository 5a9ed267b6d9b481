"""`collabiq gmail login` against the stand-in of Google's servers."""

import json
import threading

import httpx
import pytest

from collabiq.gmail import GmailApi, GmailCredentials, TokenFile
from collabiq.gmail.errors import InvalidCredentials
from collabiq.gmail.login import SignInFailed, client_of, sign_in


def client_file(world) -> str:
    url = world.urls["gmail"]
    installed = {
        "client_id": "stand-in.apps.example",
        "client_secret": "stand-in-client-secret",
        "auth_uri": f"{url}/auth",
        "token_uri": f"{url}/token",
    }
    return json.dumps({"installed": installed})


class Browser:
    """Opens the address of a sign-in, and follows where it is sent."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def open(self, url: str) -> None:
        thread = threading.Thread(target=httpx.get, args=(url,), kwargs={"follow_redirects": True})
        thread.start()
        self.threads.append(thread)

    def close(self) -> None:
        for thread in self.threads:
            thread.join()


@pytest.fixture
def browser(monkeypatch):
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    opened = Browser()
    yield opened
    opened.close()


def test_who_has_signed_in_can_read_the_mailbox(world, browser, tmp_path):
    found = sign_in(
        client_of(client_file(world)), show=browser.open, open_browser=False, timeout_s=20
    )
    file = TokenFile(tmp_path / "token.json")
    file.write(found.to_json())
    world.world.gmail.expire_tokens()
    api = GmailApi(
        GmailCredentials(file=file), now=lambda: found.expiry, base_url=world.urls["gmail"]
    )

    assert api.profile().address == world.world.gmail.address
    api.close()


def test_nobody_signs_in_within_the_time(world, browser):
    with pytest.raises(SignInFailed, match="did not work"):
        sign_in(client_of(client_file(world)), show=lambda _: None, open_browser=False, timeout_s=1)


@pytest.mark.parametrize(
    "text", ["no json", "[]", '{"installed": {}}', '{"web": {"client_id": 1}}']
)
def test_a_file_that_is_no_client_is_refused_with_what_to_do(text):
    with pytest.raises(InvalidCredentials) as refused:
        client_of(text)

    assert "client" in str(refused.value)


def test_a_login_without_a_client_ends_with_one_line(run, tmp_path):
    (tmp_path / "credentials.json").write_text("{}", encoding="utf-8")

    done = run("gmail", "login", "--no-browser")
    missing = run("gmail", "login", "--client", "nothing.json")

    assert done.exit_code == missing.exit_code == 2
    assert "OAuth client" in done.stderr
    assert "Traceback" not in done.output + missing.output
