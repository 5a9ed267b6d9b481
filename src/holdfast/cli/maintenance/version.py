"""`holdfast version`."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import version as version_of

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command


@click.command("version", cls=Command, example="holdfast version --json")
@pass_invocation
def version(invocation: Invocation) -> None:
    """Print the versions of holdfast and of what it stands on."""
    found = {
        "holdfast": version_of("holdfast"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "psycopg": version_of("psycopg"),
    }
    if invocation.as_json:
        invocation.output.document(found)
    else:
        first, *others = (f"{name} {number}" for name, number in found.items())
        invocation.output.line(f"{first} ({', '.join(others)})")
