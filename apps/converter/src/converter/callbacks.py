"""Where webhooks about conversions may go: what an operator allows, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from converter.refusals import CallbackRefused
from holdfast import Retry
from holdfast.bridges.hosts import is_public
from holdfast.errors import InvalidValue
from holdfast.variables import Variables

if TYPE_CHECKING:
    from holdfast.bridges.webhook import Webhook

PROVIDER: Final = "conversion-webhook"
MAX_URL_LENGTH: Final = 255
_ANY: Final = "*"
_BELOW: Final = "*."
_DAY_S: Final = 24 * 3600.0
_RETRY: Final = Retry(attempts=10, base=10.0, factor=3.0, cap=3600.0)
"""A receiver that is down is tried for some four hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackConfig:
    """Which hosts webhooks may go to, and what they are signed with. Without hosts there are none.

    A host is a name, `*.example.org` for all names below one, or `*` for any.
    """

    hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    allow_private: bool = False
    """Whether they may go to this machine and to private networks."""

    @classmethod
    def read(cls, given: Variables) -> CallbackConfig:
        """Return what the variables say; hosts without a secret are refused by name."""
        hosts = _listed(given.text("CALLBACK_HOSTS", "").lower())
        secrets = _listed(given.text("CALLBACK_SECRET", ""))
        private = given.one_of("CALLBACK_PRIVATE", ("no", "yes"), default="no")
        if hosts and not secrets:
            limit = "set, because CALLBACK_HOSTS is: whsec_ and then 24 to 64 bytes in base64"
            raise given.invalid("CALLBACK_SECRET", "", limit)
        config = cls(hosts=hosts, secrets=secrets, allow_private=private == "yes")
        try:
            if secrets:
                config.provider()
        except InvalidValue as error:
            raise given.invalid("CALLBACK_SECRET", "…", error.limit) from None
        return config

    def provider(self) -> Webhook:
        """Return what webhooks are sent through.

        Each try carries the same id, which receivers are to drop when they have seen it before.
        """
        # It takes long to import, and most converters call nobody back.
        from holdfast.bridges.webhook import Webhook  # noqa: PLC0415

        return Webhook(
            self.secrets,
            name=PROVIDER,
            receiver_dedupes_for=_DAY_S,
            public_only=not self.allow_private,
            retry=_RETRY,
        )

    def check(self, url: str) -> None:
        """Raise `CallbackRefused` unless a webhook may go there.

        Where a name leads is looked at when it is called.
        """
        if not self.hosts:
            raise CallbackRefused("This converter makes no callbacks.")
        if len(url) > MAX_URL_LENGTH:
            raise CallbackRefused(f"A callback URL has at most {MAX_URL_LENGTH} characters.")
        try:
            self.provider().check({"url": url, "type": "conversion"})
        except InvalidValue:
            raise CallbackRefused("A callback URL is like https://example.org/hook.") from None
        host = (urlsplit(url).hostname or "").lower().rstrip(".")
        if not self._allows(host):
            raise CallbackRefused("Callbacks may not go to that host; ask who runs the converter.")

    def _allows(self, host: str) -> bool:
        if not self.allow_private and not _may_be_public(host):
            return False
        return any(_matches(host, allowed) for allowed in self.hosts)


def _matches(host: str, allowed: str) -> bool:
    if allowed.startswith(_BELOW):
        return host.endswith(allowed.removeprefix(_ANY))
    return allowed in (_ANY, host)


def _may_be_public(host: str) -> bool:
    """Return whether a host is a public address, or a name, which only a lookup can tell."""
    try:
        return is_public(host)
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
