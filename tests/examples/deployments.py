"""Reads what runs holdfast: a deployment names commands and settings that exist."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.cli.main import program
from holdfast.config.settings import Settings, load
from holdfast.config.sources import unknown_variables


def settings_of(environment: Mapping[str, str], tmp_path: Path) -> Settings:
    """Return the settings that a deployment makes, where every variable is one."""
    assert unknown_variables(environment) == []
    return load(environment=environment, folder=tmp_path)


def parsed(command: list[str]) -> dict[str, Any]:
    """Return the options of a command of holdfast, as the command line reads them."""
    name, *arguments = command
    found = program.commands[name]
    return found.make_context(name, list(arguments), resilient_parsing=True).params


def unit_of(text: str) -> list[tuple[str, str]]:
    """Return the settings of a systemd unit in their order."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return [(key, value) for key, _, value in pairs]
