"""Signs a user in at Google in their own browser, and returns credentials that last."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from typing import Any, Final, cast

from collabiq.gmail.errors import InvalidCredentials
from collabiq.gmail.token_file import SCOPES, UserCredentials

TIMEOUT_S: Final = 300
_DONE: Final = "Signed in. You can close this window and go back to the terminal."
_KINDS: Final = ("installed", "web")


class SignInFailed(InvalidCredentials):
    """Nobody signed in, or Google did not hand out what is needed."""


def client_of(text: str, *, token_uri: str | None = None) -> dict[str, Any]:
    """Return the OAuth client of a file as Google's console hands it out.

    Raises `InvalidCredentials`. `token_uri` replaces the one in it.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidCredentials("the file of the OAuth client is no JSON") from None
    kind = next((each for each in _KINDS if isinstance(document, dict) and each in document), None)
    client = document[kind] if kind is not None else None
    needed = ("client_id", "client_secret", "auth_uri", "token_uri")
    if not isinstance(client, dict) or not all(isinstance(client.get(n), str) for n in needed):
        raise InvalidCredentials(
            "the file is no OAuth client; download one of the type Desktop app from "
            "Google's console, under APIs & Services, Credentials"
        )
    return {"installed": client | ({"token_uri": token_uri} if token_uri else {})}


def sign_in(
    client: dict[str, Any],
    *,
    show: Callable[[str], None],
    open_browser: bool = True,
    port: int = 0,
    timeout_s: int = TIMEOUT_S,
) -> UserCredentials:
    """Have a user sign in, and return their credentials; raises `SignInFailed`.

    `show` gets the address to open. Google sends the browser back to a port of this machine.
    """
    from google_auth_oauthlib.flow import InstalledAppFlow  # noqa: PLC0415 - for this alone

    flow: Any = InstalledAppFlow.from_client_config(client, scopes=list(SCOPES))
    plain_url = flow.authorization_url

    def shown_url(**given: Any) -> tuple[str, str]:  # noqa: ANN401 - as the library calls it
        url, state = cast("tuple[str, str]", plain_url(**given))
        show(url)
        return url, state

    flow.authorization_url = shown_url
    try:
        found = flow.run_local_server(
            host="127.0.0.1",
            port=port,
            authorization_prompt_message=None,
            success_message=_DONE,
            open_browser=open_browser,
            timeout_seconds=timeout_s,
            # Without these Google hands out no refresh token the second time.
            access_type="offline",
            prompt="consent",
        )
    except Exception as error:  # noqa: BLE001 - of four libraries; their words may repeat secrets
        raise SignInFailed(f"signing in did not work: {type(error).__name__}") from None
    if not found.refresh_token:
        raise SignInFailed("Google handed out no refresh token; remove the app's access and retry")
    return UserCredentials(
        client_id=found.client_id,
        client_secret=found.client_secret,
        refresh_token=found.refresh_token,
        token_uri=found.token_uri,
        token=found.token,
        expiry=found.expiry.replace(tzinfo=UTC) if found.expiry else None,
    )
