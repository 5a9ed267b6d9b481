"""PostgreSQL databases with the schema and without a row, for one test after another.

A server takes longer to make a database than most tests take, and hardly any time to empty one.
A database that could be told from a new one is never lent again: one whose schema has changed, one
that is still in use when its test has ended, one that has grown.
"""

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import psycopg

from holdfast.store.postgres.store import PostgresStore
from holdfast.store.schema.system_tables import load_tables
from holdfast.testing.postgres.databases import DisposableDatabases

LONGEST_GOODBYE_S = 1.0
"""How long after the end of a test its sessions may take to end."""
MAX_BYTES = 8 * 1024 * 1024
"""Tables of more than that, dead rows included, are slower than those of a new database."""

_IMPATIENT = "-c lock_timeout=1s -c statement_timeout=10s"
_OWN_SCHEMA = "nspname !~ '^pg_' and nspname <> 'information_schema'"
# Whatever changes a schema writes a row of these; vacuum and analyze overwrite theirs in place.
_CATALOGS = (
    *("pg_class", "pg_attribute", "pg_attrdef", "pg_index", "pg_constraint"),
    *("pg_proc", "pg_trigger", "pg_event_trigger", "pg_extension"),
)
# The newest transaction in each; ages are whole numbers, and casts of xmin would take longer.
_SHAPE = (
    "select "
    + ", ".join(
        f"(select (count(*), age('3'::xid) - min(age(xmin)))::text from {name})"
        for name in _CATALOGS
    )
    + f", (select string_agg(nspname, ' ' order by nspname) from pg_namespace where {_OWN_SCHEMA})"
    + ", (select string_agg(setconfig::text, ' ') from pg_db_role_setting join pg_database d"
    "  on setdatabase = d.oid where d.datname = current_database())"
    + ", (select string_agg(m::text, ' ' order by version) from holdfast.migration m)"
    ", (select string_agg(m::text, ' ' order by system, version) from holdfast.system_migration m)"
)
_SESSIONS = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and backend_type = 'client backend' and pid <> pg_backend_pid()"
)
_OWN = f"pg_class c join pg_namespace n on n.oid = relnamespace where {_OWN_SCHEMA}"
_TABLES = (
    f"select format('%I.%I', nspname, relname) from {_OWN} and relkind = 'r'"
    " and relname not in ('migration', 'system_migration')"
)
_RESTART = f"select setval(c.oid::regclass, 1, false) from {_OWN} and relkind = 'S'"
_BYTES = f"select sum(pg_relation_size(c.oid))::bigint from {_OWN} and relkind in ('r', 'i', 't')"


@dataclass(frozen=True)
class _Lent:
    """A database, what its schema was when it was new, and a session that knows its tables."""

    url: str
    session: psycopg.Connection
    shape: object
    emptied_by: str
    """The statements that leave no row in it."""


def lent_databases(
    databases: DisposableDatabases, *, tables: Mapping[str, str] | None = None
) -> Iterator["ReusedDatabases"]:
    """Yield databases to lend, for a fixture; those of a system have its tables."""
    with closing(ReusedDatabases(databases, tables=tables)) as made:
        yield made


class LeftOpen(AssertionError):
    """A test has not closed its connections."""


class ReusedDatabases:
    """Lends databases with the schema and without a row.

    `tables` names for each system the package whose SQL files make its tables, as for `Holdfast`:
    they are part of the schema.
    """

    def __init__(
        self, databases: DisposableDatabases, *, tables: Mapping[str, str] | None = None
    ) -> None:
        self._databases = databases
        self._tables = load_tables(tables or {})
        self._idle: list[_Lent] = []
        self._lent: dict[str, _Lent] = {}

    def lend(self) -> str:
        """The URL of a database that nobody else has now; `take_back` must see it again."""
        lent = self._idle.pop() if self._idle else self._make()
        self._lent[lent.url] = lent
        return lent.url

    def take_back(self, url: str) -> bool:
        """Whether the database was emptied for the next test; if not, it is given up.

        Raises `LeftOpen` when this process still has connections to it, and closes them: found by
        chance some tests later, they would fail one that has nothing to do with them.
        """
        lent = self._lent.pop(url)
        alone = as_new = False
        with suppress(psycopg.Error):
            alone = _is_only_session(lent.session)
            as_new = alone and _made_as_new(lent)
        if as_new:
            self._idle.append(lent)
        else:
            lent.session.close()
            self._databases.use_up(url)
        if not alone:
            _close_what_was_left_open(unquote(urlsplit(url).path.lstrip("/")))
        return as_new

    def close(self) -> None:
        """Ends the sessions."""
        for lent in [*self._idle, *self._lent.values()]:
            lent.session.close()

    def _make(self) -> _Lent:
        purpose = "/".join(["migrated", *(each.system for each in self._tables)])
        template = self._databases.template(purpose, build=self._migrate)
        url = self._databases.fresh(template=template)
        session = psycopg.connect(url, autocommit=True, options=_IMPATIENT)
        tables = [name for (name,) in session.execute(_TABLES)]
        emptied_by = "; ".join(f"delete from {table}" for table in tables)
        return _Lent(url, session, session.execute(_SHAPE).fetchone(), emptied_by)

    def _migrate(self, url: str) -> None:
        store = PostgresStore(url)
        store.tables = self._tables
        store.migrate()
        store.close()


def _made_as_new(lent: _Lent) -> bool:
    session = lent.session
    if session.execute(_SHAPE).fetchone() != lent.shape:
        return False
    session.execute(f"{lent.emptied_by}; {_RESTART}")
    size = session.execute(_BYTES).fetchone()
    return size is not None and size[0] < MAX_BYTES


def _is_only_session(session: psycopg.Connection) -> bool:
    """Whether nobody else is connected; a session that has just been closed may take a moment."""
    give_up_at = time.monotonic() + LONGEST_GOODBYE_S
    while session.execute(_SESSIONS).fetchone() != (0,):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.005)
    return True


def _close_what_was_left_open(database: str) -> None:
    # By type: asking some objects for their class, as proxies are asked, runs code of theirs.
    connections = [
        thing for thing in gc.get_objects() if issubclass(type(thing), psycopg.Connection)
    ]
    left_open = [
        connection
        for connection in connections
        if not connection.closed and connection.info.dbname == database
    ]
    for connection in left_open:
        connection.close()
    if left_open:
        raise LeftOpen(f"connections to {database} were left open: {len(left_open)}")
