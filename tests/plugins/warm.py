"""The process from which programs are forked: one for the whole run.

Under xdist the controller starts it before the workers, which then need not wait for its imports
and do not repeat them. Without xdist it starts with the first program (`tests.warm.process`).
"""

import shutil
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.plugins.servers import runs_without_servers
from tests.warm.process import _WarmParent

_WORKER_INPUT = "holdfast_warm_parent"
_CLEANUP = pytest.StashKey[ExitStack]()
_DOOR = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CLEANUP] = ExitStack()
    _WarmParent.shared_at = getattr(config, "workerinput", {}).get(_WORKER_INPUT, "")


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_CLEANUP].close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Called by xdist in the controller, before it starts a worker."""
    config = node.config
    if _DOOR not in config.stash:
        config.stash[_DOOR] = "" if runs_without_servers(config) else _opened(config)
    node.workerinput[_WORKER_INPUT] = config.stash[_DOOR]


def _opened(config: pytest.Config) -> str:
    """Start it, and return where it listens."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-warm-"))
    config.stash[_CLEANUP].callback(shutil.rmtree, folder, ignore_errors=True)
    path = str(folder / "door")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(path)
        door.listen(64)
        parent = _WarmParent.start(door=door)
    config.stash[_CLEANUP].callback(parent.close)
    return path
