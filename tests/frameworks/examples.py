"""Imports the applications under examples/ as their users start them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def imported(name: str, monkeypatch: pytest.MonkeyPatch, **variables: str) -> ModuleType:
    """Return an example as a new module, made with these environment variables."""
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    path = EXAMPLES / name
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
