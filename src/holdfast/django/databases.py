"""The databases of a Django project: their addresses, and the transactions open on them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, urlencode

from django.db import connections
from psycopg.pq import Conninfo

from holdfast.errors import UsageError

_IN_MEMORY: Final = (":memory:", "file:")
_NAMED: Final = frozenset({"dbname", "user", "password", "host", "port"})
"""What stands in a URL before its options."""


def url_of(database: str) -> str:
    """Return the address of a database of the settings, as `Holdfast` takes it."""
    connection = connections[database]
    given = connection.settings_dict
    match connection.vendor:
        case "sqlite":
            return _sqlite_url(database, str(given["NAME"]))
        case "postgresql":
            return postgres_url(connection.get_connection_params())
        case vendor:
            raise UsageError(
                f"DATABASES[{database!r}] is {vendor}; holdfast keeps jobs in PostgreSQL or "
                "SQLite: name another database in OPTIONS of TASKS"
            )


def is_in_transaction(database: str) -> bool:
    """Return whether a transaction is open on a database, or begins with the next statement."""
    connection = connections[database]
    if connection.connection is None and connection.settings_dict["AUTOCOMMIT"]:
        return False  # nothing has been done on it
    return not connection.get_autocommit()


def _sqlite_url(database: str, name: str) -> str:
    if name.startswith(_IN_MEMORY):
        raise UsageError(
            f"DATABASES[{database!r}] is in memory, where workers cannot see it; name a file, in "
            "tests by TEST NAME"
        )
    return f"sqlite:///{name}"


def postgres_url(parameters: dict[str, Any]) -> str:
    """Return the URL of what Django would connect to; what libpq does not know is Django's own."""
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    given = {
        name: str(value)
        for name, value in parameters.items()
        if name in known and value not in {None, ""}
    }
    options = {name: value for name, value in given.items() if name not in _NAMED}
    login = quote(given.get("user", ""), safe="")
    if "password" in given:
        login += f":{quote(given['password'], safe='')}"
    host = given.get("host", "")
    place = f"[{host}]" if ":" in host else quote(host, safe="")
    if "port" in given:
        place += f":{given['port']}"
    address = f"{login}@{place}" if login else place
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"postgresql://{address}/{quote(given.get('dbname', ''), safe='')}{query}"
