"""A stand-in for Infisical: machine identities and raw secrets, in memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any, Final

from collabiq.stand_ins.wire import (
    Answering,
    Refused,
    bearer_of,
    document_of,
    json_answer,
    losing,
    path_of,
    query_of,
)
from holdfast.systems import Answer, Call

CLIENT_ID: Final = "stand-in-identity"
CLIENT_SECRET: Final = "stand-in-identity-secret"  # noqa: S105 - of a stand-in
LIFETIME_S: Final = 7_200


class InfisicalStandIn:
    """Answers as Infisical's API does; any number of threads may call it."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.secrets = dict(secrets or {})
        self.logins = 0
        self._tokens: set[str] = set()
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()

    @property
    def faults(self) -> Mapping[str, Answering]:
        """What it does instead, by name."""
        return {
            "unauthorized": _always(401, "Unauthorized", "Invalid credentials"),
            "forbidden": _always(403, "PermissionDenied", "You are not allowed to read secrets"),
            "no_json": _no_json,
            "lost_answer": losing(self),
        }

    def __call__(self, call: Call) -> Answer:
        """Answer a call."""
        with self._lock:
            try:
                return json_answer(self._route(call))
            except Refused as refused:
                return refused.answer

    def rotate(self, name: str, value: str) -> None:
        """Give a secret another value."""
        with self._lock:
            self.secrets[name] = value

    def expire_tokens(self) -> None:
        """Have every access token that was given out refused."""
        with self._lock:
            self._tokens.clear()

    def _route(self, call: Call) -> dict[str, Any]:
        path = path_of(call)
        if call.method == "POST" and path == ["api", "v1", "auth", "universal-auth", "login"]:
            return self._login(document_of(call) or {})
        if bearer_of(call) not in self._tokens:
            raise Refused(error(401, "Unauthorized", "Token missing or expired"))
        environment = query_of(call).get("environment", "")
        match [call.method, *path]:
            case ["GET", "api", "v3", "secrets", "raw"]:
                found = [_secret(each, self.secrets[each], environment) for each in self.secrets]
                return {"secrets": found, "imports": []}
            case ["GET", "api", "v3", "secrets", "raw", name] if name in self.secrets:
                return {"secret": _secret(name, self.secrets[name], environment)}
            case _:
                raise Refused(error(404, "NotFound", "Secret not found"))

    def _login(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if (given.get("clientId"), given.get("clientSecret")) != (CLIENT_ID, CLIENT_SECRET):
            raise Refused(error(401, "Unauthorized", "Invalid credentials"))
        self.logins += 1
        token = f"stand-in-infisical-{next(self._numbers)}"
        self._tokens.add(token)
        return {
            "accessToken": token,
            "expiresIn": LIFETIME_S,
            "accessTokenMaxTTL": LIFETIME_S,
            "tokenType": "Bearer",
        }


def error(status: int, name: str, message: str) -> Answer:
    """Return an error as Infisical words it."""
    return json_answer({"statusCode": status, "message": message, "error": name}, status)


def _always(status: int, name: str, message: str) -> Answering:
    def refuse(_call: Call) -> Answer:
        return error(status, name, message)

    refuse.__doc__ = f"Answers {status} {name}."
    return refuse


def _no_json(_call: Call) -> Answer:
    """Answers 200 with a page instead of a document."""
    return Answer(200, b"<html>a proxy says hello</html>", "text/html")


def _secret(name: str, value: str, environment: str) -> dict[str, Any]:
    return {
        "id": f"id-of-{name}",
        "_id": f"id-of-{name}",
        "workspace": "stand-in",
        "environment": environment,
        "version": 1,
        "type": "shared",
        "secretKey": name,
        "secretValue": value,
        "secretComment": "",
        "createdAt": "2025-11-03T00:00:00.000Z",
        "updatedAt": "2025-11-03T00:00:00.000Z",
    }
