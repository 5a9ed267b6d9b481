"""Where a program's own secrets stand: in addresses, and in its environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast.redaction.patterns.judgement import is_hidden
from holdfast.redaction.patterns.key_names import Care, KeyNames

_NAMES: Final = KeyNames()
_NAMES_SECRETS: Final = "HOLDFAST_SECRET_VARIABLES"
"""Holds the names of secrets, which are none themselves."""
_PATHS: Final = ("/", "./", "~/")
"""Where a secret is kept, or whom to ask for it, is none."""


def secrets_in_url(url: str) -> Iterator[str]:
    """Return the password and the secret options of an address, as written and as meant."""
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query)
    except ValueError:
        return
    credentials, _, _ = parts.netloc.rpartition("@")
    user, colon, password = credentials.partition(":")
    # What stands alone before the host is a token, unless there is a name to it.
    written = password if colon else (user if _is_secret("token", user) else "")
    if written:
        yield written
        if unquote(written) != written:
            yield unquote(written)
    yield from (value for name, value in options if _is_secret(name, value))


def secrets_in_environment(
    environment: Mapping[str, str], names: Collection[str] = ()
) -> Iterator[str]:
    """Return the values of variables that are secret by their name, or named in `names`.

    Of a variable that holds an address only its password is secret.
    """
    for name, value in environment.items():
        if name == _NAMES_SECRETS:
            continue
        if "://" in value:
            yield from secrets_in_url(value)
        if value and (name in names or ("://" not in value and _is_secret(name, value))):
            yield value


def _is_secret(name: str, value: str) -> bool:
    found = _NAMES.sensitivity(name)
    if found is None or (value.startswith(_PATHS) and found.care is not Care.ALWAYS):
        return False
    return is_hidden(value, found.care, in_prose=False)
