"""Every setting with where it comes from; secrets are masked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from collabiq.secrets import Found
from collabiq.settings.config import REQUIRED_SECRETS, SYSTEM_NAME, Config
from holdfast.secrets import Secrets, SecretUnavailable
from holdfast.variables import Variables

MASK: Final = "********"
UNSET: Final = "unset"
SECRETS: Final = (
    *REQUIRED_SECRETS,
    "GMAIL_ENCRYPTION_KEY",
    "GMAIL_NOTIFICATION_SECRET",
    "INFISICAL_CLIENT_SECRET",
)
SHOWN: Final = frozenset({"NOTION_DATABASE_ID_COLLABIQ", "NOTION_DATABASE_ID_COMPANIES"})
"""Kept with the secrets, and no use to a stranger."""


@runtime_checkable
class _WithOrigins(Protocol):
    """Secrets that know where each was found."""

    last_failure: Exception | None

    def found(self, name: str) -> Found | None:
        """Return a secret with its origin, or None."""
        ...


def found_secret(secrets: Secrets, name: str) -> str | None:
    """Return a secret, or None where it is found nowhere."""
    if isinstance(secrets, _WithOrigins):
        found = secrets.found(name)
        return None if found is None else found.value
    try:
        return secrets.get(name)
    except SecretUnavailable:
        return None


def infisical_failure(secrets: Secrets) -> Exception | None:
    """Return why Infisical fails now, or None while it does not."""
    provider = getattr(secrets, "provider", None)
    if provider is None or not provider.failing or not isinstance(secrets, _WithOrigins):
        return None
    return secrets.last_failure


def config_document(
    secrets: Secrets, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return every setting by name with its value and its source; no secret is in it.

    Sources are `infisical`, `cache`, `env_file`, `environment`, `default`, and `unset` for a
    secret that is found nowhere.
    """
    variables = Variables(os.environ if environment is None else environment, system=SYSTEM_NAME)
    Config.read(variables)
    settings = []
    for name in sorted({*variables.readings, *SECRETS}):
        reading = variables.readings.get(name)
        if name in SECRETS:
            value, source = _secret(secrets, name, variables)
        else:
            value = None if reading is None else reading.value
            source = "environment" if reading is not None and reading.variable else "default"
        settings.append({"name": name, "value": value, "source": source, "secret": name in SECRETS})
    return {"settings": settings}


def _secret(secrets: Secrets, name: str, variables: Mapping[str, str]) -> tuple[str | None, str]:
    if isinstance(secrets, _WithOrigins):
        found = secrets.found(name)
        value, origin = (None, UNSET) if found is None else (found.value, str(found.origin))
    else:
        value = found_secret(secrets, name) or variables.get(name) or None
        origin = "environment" if value else UNSET
    if value is None or name in SHOWN:
        return value, origin
    return MASK, origin
