"""Django's connections, by alias or as they are."""

from __future__ import annotations

import sys
from typing import Any

from holdfast.errors import UsageError


def driver_of_django(connection: Any) -> object:  # noqa: ANN401 - Django may be absent
    """Return the driver's connection, which must be in a transaction that can be committed."""
    wrapper = _of_alias(connection) if isinstance(connection, str) else connection
    wrapper.validate_no_broken_transaction()
    if wrapper.get_autocommit():
        raise UsageError(
            f"Django's connection {wrapper.alias!r} has no transaction open, so nothing would hold "
            f"the jobs together with your own rows; call it inside "
            f"`with transaction.atomic(using={wrapper.alias!r}):`"
        )
    driver: object = wrapper.connection
    return driver


def _of_alias(alias: str) -> Any:  # noqa: ANN401 - as above
    django = sys.modules.get("django.db")
    if django is None:
        raise _not_in_use(alias)
    try:
        known = sorted(django.connections)
    except sys.modules["django.core.exceptions"].ImproperlyConfigured as error:
        raise _not_in_use(alias) from error
    if alias not in known:
        raise UsageError(
            f"connection is a str, {alias!r}, and Django's DATABASES has only {', '.join(known)}"
        )
    return django.connections[alias]


def _not_in_use(alias: str) -> UsageError:
    return UsageError(
        f"connection is a str, {alias!r}, which would be the alias of a connection of Django's, "
        "and Django is not in use here; pass the connection itself"
    )
