"""The peers' own environments under `bench/.peers`, installed when first needed."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).parent
PROJECT = BENCH.parent
PEERS = BENCH / ".peers"
REQUIREMENTS = BENCH / "peers" / "requirements.txt"
PACKAGE = BENCH / "peers" / "package.json"

Progress = Callable[[str], None]


class CannotInstall(Exception):
    """A peer's environment cannot be made on this machine."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a system's program is started, before its verb and options."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


def command_for(program: Path, progress: Progress) -> Command:
    """The command that runs a program of this folder, its environment made if it is missing."""
    module = f"bench.{program.parent.name}.{program.stem}"
    if program.suffix == ".cjs":
        return Command((_node(), str(program)), {"NODE_PATH": str(_node_modules(progress))})
    python = sys.executable if program.stem == "holdfast" else str(_peers_python(progress))
    return Command((python, "-m", module), {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"})


def _peers_python(progress: Progress) -> Path:
    venv = PEERS / "venv"
    python = venv / "bin" / "python"

    def install() -> None:
        progress("installing the Python peers into bench/.peers/venv")
        _run(sys.executable, "-m", "venv", "--clear", str(venv))
        _run(str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS))

    _once(venv, REQUIREMENTS, install)
    return python


def _node_modules(progress: Progress) -> Path:
    home = PEERS / "node"

    def install() -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise CannotInstall("npm is not installed; install Node.js 20 or newer with npm")
        progress("installing the Node.js peers into bench/.peers/node")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        shutil.copy(PACKAGE, home)
        _run(npm, "install", "--prefix", str(home), "--no-package-lock", "--no-audit", "--no-fund")

    _once(home, PACKAGE, install)
    return home / "node_modules"


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise CannotInstall("node is not installed; install Node.js 20 or newer with npm")
    return node


def _once(home: Path, wanted: Path, install: Callable[[], None]) -> None:
    """Install unless `home` already holds what the file `wanted` asks for."""
    stamp = home / ".installed"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    install()
    stamp.write_text(digest)


def _run(*arguments: str) -> None:
    done = subprocess.run(
        arguments,
        check=False,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()[-3:]
        raise CannotInstall(f"{Path(arguments[0]).name} failed: {' / '.join(lines)}")
