"""Where the values of settings come from: the command line, the environment, files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.config.values import READERS, SECRETS, is_database_url, is_port
from holdfast.errors import InvalidSetting
from holdfast.secrets.providers import read_file

PREFIX: Final = "HOLDFAST_"
FILE_SUFFIX: Final = "_FILE"
SETTINGS_FILE: Final = "holdfast.toml"
PROJECT_FILE: Final = "pyproject.toml"
OTHER_VARIABLES: Final = frozenset(
    {
        "HOLDFAST_DEBUG",
        "HOLDFAST_FAILPOINTS",
        "HOLDFAST_TEST_AMQP_URL",
        "HOLDFAST_TEST_POSTGRES_URL",
    }
)
"""Variables with the prefix that are no settings."""

# Names that other systems gave these settings, with the unit they count in. The prefixed name,
# where both are given, wins.
FURTHER_VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "database_url": ("DATABASE_URL", ""),
    "database_direct_url": ("DATABASE_DIRECT_URL", ""),
    "port": ("PORT", ""),
    "grace": ("HOLDFAST_SHUTDOWN_GRACE", "s"),
    "concurrency": ("WORKER_CONCURRENCY", ""),
    "lease": ("WORKER_LEASE_TTL_SEC", "s"),
    "deadline_check": ("TIMEOUT_CHECK_INTERVAL_MS", "ms"),
    "outbox_batch_size": ("OUTBOX_BATCH_SIZE", ""),
    "outbox_poll_interval": ("OUTBOX_POLL_INTERVAL_MS", "ms"),
    "outbox_stale_threshold": ("OUTBOX_STALE_THRESHOLD_MS", "ms"),
}


class Origin(NamedTuple):
    """Where a value came from: `flag`, `environment`, `file` or `default`, and its name there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


class Flag(NamedTuple):
    """A value given on the command line, and the option that gave it."""

    option: str
    value: object


class Found(NamedTuple):
    """A value as it was written, and what a number without a unit counts."""

    raw: object
    origin: Origin
    unit: str = "s"


def from_flags(flags: Mapping[str, Flag]) -> Iterator[tuple[str, Found]]:
    """Yield the settings that the command line gives."""
    for name, flag in flags.items():
        yield name, Found(flag.value, Origin("flag", flag.option))


def from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Found]]:
    """Yield the settings that variables give, or files that variables name."""
    for name in READERS:
        # An empty variable counts as one that is not there: compose files make them so.
        given = [
            Found(environment[variable], Origin("environment", variable), unit)
            for variable, unit in _variables(name)
            if environment.get(variable, "").strip() and _is_meant(variable, environment[variable])
        ]
        if name in SECRETS:
            given[:0] = _from_secret_file(environment, name)
        if given:
            yield name, given[0]


def from_file(folder: Path) -> Iterator[tuple[str, Found]]:
    """Yield the settings of the first file in `folder` that has any."""
    for path, table in (
        (folder / SETTINGS_FILE, ()),
        (folder / PROJECT_FILE, ("tool", "holdfast")),
    ):
        section = _section(path, table)
        if section is None:
            continue
        for name, value in section.items():
            if name not in READERS:
                limit = f"one of {', '.join(sorted(READERS))}"
                raise InvalidSetting(path.name, field="setting", value=name, limit=limit)
            yield name, Found(value, Origin("file", path.name))
        return


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that have the prefix and name no setting, as a typing error does."""
    known = {variable for name in READERS for variable, _ in _variables(name)} | OTHER_VARIABLES
    known |= {f"{PREFIX}{name.upper()}{FILE_SUFFIX}" for name in SECRETS}
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def invalid(origin: Origin, name: str, shown: object, *, limit: str) -> InvalidSetting:
    """Return the error that names a value where it was written, and what it has to be."""
    match origin.kind:
        case "file":
            return InvalidSetting(origin.name, field=name, value=shown, limit=limit)
        case "flag":
            return InvalidSetting("command line", field=origin.name, value=shown, limit=limit)
        case _:
            return InvalidSetting(origin.kind, field=origin.name, value=shown, limit=limit)


def variable_of(name: str) -> str:
    """Return the variable of a setting that wins over the others."""
    return _variables(name)[0][0]


def _variables(name: str) -> list[tuple[str, str]]:
    own = (f"{PREFIX}{name.upper()}", "s")
    further = FURTHER_VARIABLES.get(name)
    return [own] if further is None else [own, further]


def _is_meant(variable: str, value: str) -> bool:
    """Return whether a variable speaks to holdfast: some may be meant for another program."""
    match variable:
        case "DATABASE_URL" | "DATABASE_DIRECT_URL":
            return is_database_url(value.strip())
        case "PORT":
            return is_port(value.strip())
        case _:
            return True


def _from_secret_file(environment: Mapping[str, str], name: str) -> Iterator[Found]:
    own = f"{PREFIX}{name.upper()}"
    origin = Origin("environment", own + FILE_SUFFIX)
    path = environment.get(origin.name, "").strip()
    if not path:
        return
    if environment.get(own, "").strip():
        raise invalid(origin, name, path, limit=f"left out, as {own} is given")
    try:
        yield Found(read_file(Path(path)), origin)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        limit = f"the path of a file that can be read ({reason})"
        raise invalid(origin, name, path, limit=limit) from error


def _section(path: Path, table: Sequence[str]) -> dict[str, Any] | None:
    try:
        document: Any = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        limit = f"readable TOML ({error})"
        raise InvalidSetting(path.name, field="file", value=str(path), limit=limit) from error
    for name in table:
        document = document.get(name)
        if not isinstance(document, dict):
            return None
    return dict(document)
