"""A request to the console: who looks, at which page, with what in the address and the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request

from holdfast.api.auth.principal import Principal, Role
from holdfast.errors import InvalidValue

LONGEST_FIELD: Final = 8_000
"""How much of a field is read; the engine cuts what it keeps of it."""
_MAX_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Visit:
    """What a page is made from."""

    request: Request
    who: Principal
    csrf: str = ""
    """What every form of the page has to carry; empty without a session."""
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """What comes before every path, where another application mounts this one."""
        return str(self.request.scope.get("root_path", "")).rstrip("/")

    @property
    def owner(self) -> str | None:
        """The only owner whose rows are shown; None for every owner's."""
        return self.who.owner

    @property
    def operator(self) -> bool:
        """Whether the visitor may change things."""
        return self.who.role.may(Role.OPERATOR)

    @property
    def query(self) -> QueryParams:
        """What stands behind the question mark."""
        return self.request.query_params

    @property
    def path(self) -> str:
        """The path of the page, without what comes before every path."""
        whole = str(self.request.scope.get("path", "/"))
        return whole.removeprefix(self.base) or "/"

    def part(self, name: str) -> str:
        """Return what the path says at that place."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str | None:
        """Return what the address says under a name; None for nothing."""
        text = self.query.get(name, "").strip()
        return text or None

    def position(self, name: str) -> int | None:
        """Return the whole number that the address says under a name; None where it is none."""
        return whole_number(self.query.get(name, ""))

    def said(self, name: str) -> str | None:
        """Return what the form says under a name; None for nothing."""
        text = self.form.get(name, "").strip()
        return text or None

    def reason(self) -> str:
        """Return the reason that a form gives, which every action needs."""
        return self.text("reason")

    def text(self, name: str) -> str:
        """Return a text that the form has to hold."""
        found = self.said(name)
        if found is None:
            raise InvalidValue(
                "form", field=name.replace("_", " "), value="empty", limit="filled in"
            )
        return found

    def ticked(self, name: str) -> bool:
        """Return whether a box of the form is ticked."""
        return self.form.get(name) == "yes"

    def number(self, name: str, otherwise: float | None = None) -> float | None:
        """Return a number of the form; `otherwise` where it is left empty."""
        text = self.said(name)
        if text is None:
            return otherwise
        try:
            found = float(text)
        except ValueError:
            found = nan
        if not isfinite(found):
            raise InvalidValue("form", field=name, value=text, limit="a number")
        return found

    def count(self, name: str) -> int | None:
        """Return a whole number of the form; None where it is left empty."""
        found = self.number(name)
        if found is not None and not found.is_integer():
            raise InvalidValue("form", field=name, value=found, limit="a whole number")
        return None if found is None else int(found)

    def href(self, **changed: str | None) -> str:
        """Return this page's address with some of its query replaced, or with None left out."""
        pairs = [
            (name, value)
            for name, value in self.query.multi_items()
            if name not in changed and name not in {"done", "count"}
        ]
        pairs += [(name, value) for name, value in changed.items() if value is not None]
        query = urlencode(pairs)
        return f"{self.base}{self.path}" + (f"?{query}" if query else "")


def whole_number(text: str) -> int | None:
    """Return a number of digits that a database can hold; None for anything else."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None
