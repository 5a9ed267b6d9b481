"""Has the generator show the verbs of the application: they are declared as `Delegate`s."""

from __future__ import annotations

import copy
from typing import Any

import griffe


class Verbs(griffe.Extension):
    """Puts in place of each `Delegate` the method that it stands for."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:  # noqa: ANN401 - griffe's own
        """Look through the application, once the whole package is loaded."""
        if "engine" not in pkg.members:
            return
        application = pkg["engine.app.Holdfast"]
        for name, member in list(application.members.items()):
            value = getattr(member, "value", None)
            if not (isinstance(value, griffe.ExprCall) and str(value.function) == "Delegate"):
                continue
            method = value.arguments[1]
            path = method.canonical_path if isinstance(method, griffe.Expr) else str(method)
            verb = copy.copy(pkg[path.removeprefix(f"{pkg.path}.")])
            verb.name = name
            application.set_member(name, verb)
