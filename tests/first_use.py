"""Modules that take seconds to import, for the one worker that runs the tests about them.

Every worker collects all tests, and with them imports whatever stands at the top of a file.
"""

import importlib
from typing import Any


class OnFirstUse:
    """Stands for a module, which is imported once something in it is asked for."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for marks of its own on whatever it finds
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


anthropic = OnFirstUse("anthropic")
genai = OnFirstUse("google.genai")
openai = OnFirstUse("openai")
