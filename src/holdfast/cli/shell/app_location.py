"""Finds the application that `-A module:app` names."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, UsageError


def locate(location: str) -> Holdfast:
    """Import the module and return its application, made by calling it when it is a factory.

    The current folder can be imported from. A module alone stands for the only `Holdfast` in it.
    """
    module_name, _, path = location.partition(":")
    module = _import(module_name, location)
    if not path:
        return _only_one_in(module)
    found: Any = module
    for name in path.removesuffix("()").split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise UsageError(
                f"-A {location}: {module_name} has no {path!r}{_instead(module)}"
            ) from None
    if not isinstance(found, Holdfast) and callable(found):
        found = _made_by(found, location)
    if not isinstance(found, Holdfast):
        raise UsageError(
            f"-A {location}: that is a {type(found).__name__}, not a Holdfast{_instead(module)}"
        )
    return found


def _import(name: str, location: str) -> ModuleType:
    if name.endswith(".py") or os.sep in name:
        dotted = ".".join(Path(name).with_suffix("").parts)
        raise UsageError(
            f"-A {location}: name the module as Python imports it, such as {dotted}, not its file"
        )
    folder = os.getcwd()  # noqa: PTH109 - an entry of sys.path is a string
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise UsageError(
                f"-A {location}: there is no module {missing!r} in {folder} or on Python's path"
            ) from error
        raise _broken(error, location) from error
    except HoldfastError:
        raise
    except Exception as error:
        raise _broken(error, location) from error


def _made_by(factory: Any, location: str) -> Any:  # noqa: ANN401 - whatever the module holds
    try:
        return factory()
    except HoldfastError:
        raise
    except Exception as error:
        raise _broken(error, location) from error


def _broken(error: Exception, location: str) -> UsageError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return UsageError(
        f"-A {location}: {type(error).__name__}: {error} ({last.filename}, line {last.lineno}); "
        "mend it, or run with HOLDFAST_DEBUG=1 to see the way there"
    )


def _only_one_in(module: ModuleType) -> Holdfast:
    found = _apps_in(module)
    distinct = {id(app): app for app in found.values()}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if not found:
        raise UsageError(
            f"-A {module.__name__}: that module holds no Holdfast; "
            f"name it, or what makes it, as in -A {module.__name__}:app"
        )
    raise UsageError(f"-A {module.__name__}: that module holds several{_instead(module)}")


def _apps_in(module: ModuleType) -> dict[str, Holdfast]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Holdfast)}


def _instead(module: ModuleType) -> str:
    names = sorted(_apps_in(module))
    if not names:
        return ""
    return "; try " + " or ".join(f"-A {module.__name__}:{name}" for name in names)
