"""Commands of collabiq, run in this process with variables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from apps.collabiq.tests.servers import served_world
from collabiq.cli import main
from collabiq.stand_ins.world import ServedWorld, StandInWorld


@pytest.fixture
def world() -> Iterator[ServedWorld]:
    """The four stand-ins, with no limit of calls."""
    with served_world(StandInWorld(notion_rate_per_s=None)) as served:
        yield served


@pytest.fixture
def environment(world: ServedWorld, tmp_path, monkeypatch) -> dict[str, str]:
    """What commands are set to; a test may change it before it runs one."""
    monkeypatch.chdir(tmp_path)
    return world.variables() | {"DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
def run(environment: dict[str, str], monkeypatch) -> Callable[..., Result]:
    """Run a command, and return what it printed and how it ended."""
    monkeypatch.delenv("OAUTHLIB_INSECURE_TRANSPORT", raising=False)

    def one(*arguments: str, input_: bytes | str | None = None) -> Result:
        with monkeypatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            return CliRunner().invoke(main, arguments, input=input_)

    return one
