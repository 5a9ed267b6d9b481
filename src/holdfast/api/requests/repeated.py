"""A query names what stands for one value once: of two nobody could say which counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel
from starlette.requests import Request

from holdfast.api.problems import Flaw, Problem


def lists_of(dependant: Dependant) -> frozenset[str]:
    """Return the names of the query parameters of a route that may be sent more than once."""
    return frozenset(name for name, kind in _parameters(dependant) if _is_list(kind))


def check_repeated(request: Request, lists: frozenset[str]) -> None:
    """Raise a problem when a parameter that is not among `lists` was sent more than once."""
    names = [name for name, _ in request.query_params.multi_items()]
    twice = sorted({name for name in names if name not in lists and names.count(name) > 1})
    if twice:
        raise Problem(
            "invalid_request",
            "send every parameter once that is no list; see errors",
            errors=[Flaw(f"/query/{_part(name)}", "was sent more than once") for name in twice],
        )


def _parameters(dependant: Dependant) -> Iterator[tuple[str, Any]]:
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, info in kind.model_fields.items():
                yield info.alias or name, info.annotation
        else:
            yield field.alias, kind
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def _is_list(kind: Any) -> bool:  # noqa: ANN401 - an annotation
    return get_origin(kind) is list or any(map(_is_list, get_args(kind)))


def _part(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
