"""`holdfast init`: the files of a small application to begin with."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.errors import UsageError

TEMPLATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "app.py": "app.py.txt",
        "test_app.py": "test_app.py.txt",
        "requirements.txt": "requirements.txt.txt",
        "README.md": "README.md.txt",
        "Dockerfile": "Dockerfile.txt",
        "compose.yaml": "compose.yaml.txt",
        "@name@.service": "holdfast.service.txt",
        ".env": "env.txt",
        ".gitignore": "ignored.txt",
        ".dockerignore": "ignored.txt",
    }
)
"""What is written, and from which file of `holdfast.ops`."""
PRIVATE: Final = frozenset({".env"})
DEFAULT_NAME: Final = "jobs"


@click.command("init", cls=Command, example="holdfast init shop")
@click.argument(
    "folder",
    metavar="[FOLDER]",
    default=".",
    type=click.Path(path_type=Path, file_okay=False),
)
@pass_invocation
def init(invocation: Invocation, *, folder: Path) -> None:
    """Begin an application: a job, its test, and what runs it in production.

    Writes app.py, test_app.py, requirements.txt, README.md, Dockerfile, compose.yaml, a systemd
    unit and .env with new passwords into FOLDER, by default the current one, and names the
    application after it. Nothing is overwritten: where one of the files is there already, none
    is written.
    """
    written = write(folder, chosen={"password": _secret(), "token": _secret()})
    output = invocation.output
    if output.as_json:
        output.document({"folder": str(folder), "files": written})
        return
    for name in written:
        output.line(str(folder / name))
    for line in _next(folder):
        output.remark(line)


def write(folder: Path, *, chosen: Mapping[str, str]) -> list[str]:
    """Write the files into a folder and return their names; `chosen` fills what is secret."""
    words = {"name": name_of(folder), **chosen}
    texts = {
        _filled(name, words): _filled(_template(template), words)
        for name, template in TEMPLATES.items()
    }
    taken = [name for name in texts if (folder / name).exists()]
    if taken:
        raise UsageError(
            f"nothing was written, because {folder} has {', '.join(taken)} already; "
            "name another folder: holdfast init FOLDER"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            file = folder / name
            file.touch(mode=0o600 if name in PRIVATE else 0o666, exist_ok=False)
            file.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror}") from error
    return list(texts)


def name_of(folder: Path) -> str:
    """Return what an application in this folder is called: letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    return words if words[:1].isalpha() else f"{DEFAULT_NAME}-{words}".strip("-")


def _template(name: str) -> str:
    return (resources.files("holdfast.ops") / "starter" / name).read_text("utf-8")


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@(name|password|token)@", lambda found: words[found[1]], text)


def _secret() -> str:
    return secrets.token_urlsafe(24)


def _next(folder: Path) -> list[str]:
    enter = [] if folder == Path() else [f"  cd {shlex.quote(str(folder))}"]
    return [
        "Next:",
        *enter,
        "  python -m pytest                  the test",
        "  holdfast dev -A app:app           API, console and worker, here",
        "  docker compose up --build         the same on PostgreSQL",
    ]
