"""The schema's way forward: numbered SQL files, each applied once and in order.

A migration and its row in the table of migrations are one transaction, so that one killed half way
leaves nothing behind and is simply run again. Statements that a database refuses to run inside a
transaction stand in a file whose first line is `-- concurrently`; each of them must be safe to
repeat. In a database that is new nobody is in the way of anybody, and they run like the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import resources
from typing import Final, NamedTuple, Protocol

from holdfast.errors import SchemaTooNew, SchemaTooOld, UsageError

_CONCURRENTLY: Final = "-- concurrently"
_CHECKSUM_CHARACTERS: Final = 16


class Migration(NamedTuple):
    """One step of the schema, as its file says."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What tells this text from an edited one."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:_CHECKSUM_CHARACTERS]

    @property
    def concurrent(self) -> bool:
        """Whether its statements run one by one, outside a transaction."""
        return self.text.startswith(_CONCURRENTLY)

    @property
    def statements(self) -> list[str]:
        """The statements in order; each ends with a semicolon at the end of a line."""
        found: list[str] = []
        lines: list[str] = []
        quoted = False
        for line in self.text.splitlines():
            if not lines and (not line.strip() or line.startswith("--")):
                continue
            lines.append(line)
            quoted ^= line.count("$$") % 2 == 1
            if line.rstrip().endswith(";") and not quoted:
                found.append("\n".join(lines))
                lines = []
        if lines:
            raise ValueError(f"migration {self.name} ends without a semicolon")
        return found

    @property
    def transactional_statements(self) -> list[str]:
        """The same as a transaction takes them."""
        return [statement.replace(" concurrently", "") for statement in self.statements]


class Applied(NamedTuple):
    """A row of the table of migrations."""

    version: int
    name: str
    checksum: str


class Dialect(Protocol):
    """What a database has to offer so that its schema can move forward."""

    system: str | None
    """The system whose tables these are; None for the engine's own."""

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other process from migrating; bounded in time, freed by a crash."""
        ...

    def applied(self) -> list[Applied]:
        """Return what was applied, by version; nothing when the database is empty."""
        ...

    def execute_in_transaction(self, migration: Migration) -> None:
        """Run the statements and record the migration, all or nothing."""
        ...

    def execute_one_by_one(self, migration: Migration) -> None:
        """Run each statement outside a transaction, then record the migration."""
        ...


def load(package: str) -> list[Migration]:
    """Return the migrations of a dialect's package, in order."""
    folder = resources.files(package) / "migrations"
    found = [
        Migration(int(item.name[:4]), item.name.removesuffix(".sql"), item.read_text("utf-8"))
        for item in folder.iterdir()
        if item.name.endswith(".sql")
    ]
    return sorted(found)


def migrate(dialect: Dialect, migrations: Sequence[Migration]) -> list[str]:
    """Apply what is missing and return its names."""
    if not pending(dialect, migrations):
        return []
    with dialect.locked():
        # Read again: another process may have migrated while this one waited.
        missing = pending(dialect, migrations)
        is_new = not dialect.applied()
        for migration in missing:
            # What runs concurrently waits for every older transaction, and that may be the
            # caller's own; so it is left to databases that are in use.
            if migration.concurrent and not is_new:
                dialect.execute_one_by_one(migration)
            else:
                dialect.execute_in_transaction(migration)
        return [migration.name for migration in missing]


def pending(dialect: Dialect, migrations: Sequence[Migration]) -> list[Migration]:
    """Return the migrations not yet applied; raise when what is applied is not ours."""
    applied = dialect.applied()
    supported = migrations[-1].version
    found = max((row.version for row in applied), default=0)
    if found > supported:
        raise SchemaTooNew(found=found, supported=supported, system=dialect.system)
    checksums = {row.version: row.checksum for row in applied}
    for migration in migrations:
        checksum = checksums.get(migration.version, migration.checksum)
        if checksum != migration.checksum:
            package = "holdfast" if dialect.system is None else "package"
            raise UsageError(
                f"migration {migration.name} was applied to this database with another text "
                f"(checksum {checksum}, here {migration.checksum}); an applied migration never "
                f"changes: install the {package} that applied it, or one that came after"
            )
    return [migration for migration in migrations if migration.version not in checksums]


def check(dialect: Dialect, migrations: Sequence[Migration]) -> None:
    """Raise unless the schema is exactly the one these migrations lead to."""
    missing = {migration.version for migration in pending(dialect, migrations)}
    if missing:
        known = [migration.version for migration in migrations]
        found = max((version for version in known if version not in missing), default=0)
        raise SchemaTooOld(found=found, needed=known[-1], system=dialect.system)
