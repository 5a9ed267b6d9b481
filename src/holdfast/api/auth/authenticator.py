"""Whom a request comes from: by bearer token, by session, or by being on this machine."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from typing import Final, NamedTuple

from starlette.requests import HTTPConnection

from holdfast.api.auth.principal import LOCAL, Principal
from holdfast.api.auth.session import Session, Sessions
from holdfast.api.options import ApiOptions
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.role import Role
from holdfast.engine.app import Holdfast
from holdfast.engine.tokens import TokenView
from holdfast.errors import UnknownToken, UsageError
from holdfast.secrecy import keep_secret

_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""What proxies leave behind; a request that has one of these comes from elsewhere."""


class Visitor(NamedTuple):
    """A principal, and the session it came with."""

    principal: Principal
    session: Session | None = None


class Authenticator:
    """Says who a visitor is. It asks the store each time, so a revoked token is out at once."""

    def __init__(self, engine: Holdfast, options: ApiOptions, sessions: Sessions) -> None:
        self._engine = engine
        self._sessions = sessions
        self._local = options.host is not None and is_loopback(options.host)
        self._token_hash = None if options.token is None else _hashed(options.token)
        self._had_tokens = False
        if options.token is not None:
            keep_secret([options.token])
        if options.host is not None and not self._local and not self.have_keys():
            raise UsageError(
                f"the API does not listen on {options.host} without credentials: whoever reaches "
                "it could do everything; make an API token, set "
                "HOLDFAST_API_TOKEN, or listen on 127.0.0.1"
            )

    def have_keys(self) -> bool:
        """Return whether there is, or ever was, a token that lets a visitor in."""
        # Tokens are revoked but never removed, so that what was true once stays true.
        self._had_tokens = (
            self._had_tokens or self._token_hash is not None or self._engine.tokens.exist()
        )
        return self._had_tokens

    def bearer(self, secret: str) -> Visitor | None:
        """Return who bears a token, or None when nobody may."""
        found = self._find(secret)
        return None if found is None else Visitor(found[1])

    def login(self, secret: str) -> tuple[Visitor, str] | None:
        """Open a session for the bearer of a token; return them and the cookie, or None."""
        found = self._find(secret)
        if found is None:
            return None
        token_id, principal = found
        cookie = self._sessions.open(token_id)
        return Visitor(principal, self._sessions.read(cookie)), cookie

    def guest(self, cookie: str) -> Visitor | None:
        """Return whose session a cookie is, or None when it was ended or its token is revoked."""
        session = self._sessions.read(cookie)
        if session is None or self._engine.store.sessions.has_ended(session.nonce):
            return None
        if self._token_hash is not None and session.token_id == _id_of(self._token_hash):
            return Visitor(_OF_ENVIRONMENT, session)
        try:
            view = self._engine.tokens.get(session.token_id)
        except UnknownToken:
            return None
        return None if view.revoked else Visitor(_principal(view), session)

    def logout(self, session: Session) -> None:
        """End a session for everybody who has its cookie, here and in every other process."""
        self._engine.store.sessions.end(
            session.nonce,
            expires_at=Instant(session.expires_s * SECOND_US),
            now=self._engine.clock.now(),
        )

    def local(self, request: HTTPConnection) -> Visitor | None:
        """Return the local operator where no credentials are needed, else None.

        Nothing is believed about where the API listens: the connection itself has to begin and
        end on this machine, and no proxy may have had a hand in it.
        """
        if not self._local or any(name in request.headers for name in _FORWARDED):
            return None
        ends = (request.scope.get("client"), request.scope.get("server"))
        if not all(end is not None and is_loopback(str(end[0])) for end in ends):
            return None
        return None if self.have_keys() else Visitor(LOCAL)

    def _find(self, secret: str) -> tuple[str, Principal] | None:
        if self._token_hash is not None and hmac.compare_digest(_hashed(secret), self._token_hash):
            return _id_of(self._token_hash), _OF_ENVIRONMENT
        view = self._engine.tokens.authenticate(secret)
        return None if view is None else (view.id, _principal(view))


def is_loopback(host: str) -> bool:
    """Return whether an address, or a name that always means it, is this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


_OF_ENVIRONMENT: Final = Principal(name="HOLDFAST_API_TOKEN", role=Role.OPERATOR)


def _principal(view: TokenView) -> Principal:
    return Principal(
        name=view.name,
        role=view.role,
        owner=view.owner,
        permissions=frozenset(view.permissions),
    )


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _id_of(token_hash: bytes) -> str:
    """Return what sessions of the environment's token name: another token ends them."""
    return f"environment-{token_hash.hex()[:16]}"
