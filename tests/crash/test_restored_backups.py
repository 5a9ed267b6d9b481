"""A database put back to an earlier day: providers have not forgotten what it has."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from holdfast.deliveries import Promise
from holdfast.testing.postgres.databases import create_database, database_url, drop_database
from tests.crash.fleet import Fleet
from tests.crash.office import Office
from tests.crash.postbox import Postbox

COUNT = 100


def backed_up(url: str, folder: Path) -> Callable[[], None]:
    """Take a copy of a database that nobody is connected to; return what puts it back."""
    if url.startswith("sqlite"):
        return _file_copied(Path(url.removeprefix("sqlite:///")), folder / "backup.db")
    server, name = database_url(url, "postgres"), unquote(urlsplit(url).path.lstrip("/"))
    copy = f"{name}_backup"
    create_database(server, copy, template=name)

    def restore() -> None:
        drop_database(server, name)
        create_database(server, name, template=copy)
        drop_database(server, copy)

    return restore


def _file_copied(database: Path, copy: Path) -> Callable[[], None]:
    shutil.copy(database, copy)

    def restore() -> None:
        for suffix in ("-wal", "-shm", "-lock"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        shutil.copy(copy, database)

    return restore


@pytest.mark.timeout(120)
def test_effects_after_a_backup_are_found_and_not_repeated_once_it_is_restored(
    newcomers: Fleet, postbox: Postbox, tmp_path: Path
) -> None:
    it = Office(newcomers, postbox, Promise(lookup_lag=0.0))
    it.deliver(COUNT)
    it.app.close()
    newcomers.app.close()
    restore = backed_up(newcomers.url, tmp_path)
    it.app = it.opened()
    worker = it.start()
    assert it.settled(within_s=60) == {"sent": COUNT}
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    it.app.close()

    restore()
    it.app = it.opened()
    assert it.states() == {"intent": COUNT}
    assert it.app.deliveries.reconcile(rate=10_000).found == COUNT
    it.start()
    assert it.settled(within_s=60) == {"sent": COUNT}

    assert len(postbox.ledger()) == COUNT
    assert postbox.requests["send"] == COUNT
    it.sound()
    it.app.close()
