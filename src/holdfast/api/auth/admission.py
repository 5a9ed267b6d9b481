"""What routes demand, and whom they let in: checked once for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends
from starlette.requests import Request

from holdfast.api.auth.principal import Principal, Role
from holdfast.api.auth.visitors import principal_of
from holdfast.api.problems import Problem
from holdfast.core.values.role import checked_permission

Carried = Callable[[Request], Awaitable[str | None]]
"""Return the name of who is let in by what a request carries, such as a signature in its
query; None when it carries nothing of that kind. Raises a problem when that is not good."""


class Needs(NamedTuple):
    """What a route demands."""

    role: Role
    every_owner: bool = False
    """Whether it takes one who may see the rows of every owner."""
    of_own: Role | None = None
    """The role that is enough for those who see one owner's rows, their own."""
    walk_ins: bool = False
    """Whether people without credentials are let in, to what is theirs."""
    carried: Carried | None = None
    """What a request may carry instead of a role."""
    only_carried: bool = False
    """Whether nothing but that opens the route."""
    permission: str | None = None
    """The permission that is enough in place of the role."""


def needs(
    role: Role,
    *,
    every_owner: bool = False,
    of_own: Role | None = None,
    walk_ins: bool = False,
    carried: Carried | None = None,
) -> Callable[..., Any]:
    """Return a dependency that lets in those with the role, and is their `Principal`.

    With `carried` it also lets in those whose request holds a credential for this one thing.
    """
    return _dependency(Needs(role, every_owner, of_own, walk_ins, carried))


def permitted(permission: str) -> Callable[..., Any]:
    """Return a dependency that lets in operators of all owners, and tokens with a permission.

    A permission is named by a system, such as `shop.refund`, and given to a token by
    `holdfast tokens create --may shop.refund`.
    """
    name = checked_permission(permission)
    return _dependency(Needs(Role.OPERATOR, every_owner=True, permission=name))


def request_credential(carried: Carried) -> Callable[..., Any]:
    """Return a dependency of a route that a credential in the query or the body opens, alone.

    No role, cookie or address counts there. A route whose body holds it is an `async def` that
    takes the request and reads the body itself.
    """
    return _dependency(Needs(Role.READER, carried=carried, only_carried=True))


def _dependency(demanded: Needs) -> Callable[..., Any]:
    async def admitted(request: Request) -> Principal:
        return await admit(request, demanded)

    admitted.needs = demanded  # type: ignore[attr-defined]
    admitted.never_waits = True  # type: ignore[attr-defined]
    return admitted


async def admit(request: Request, demanded: Needs) -> Principal:
    """Return whom a route lets in, or raise the problem that keeps them out.

    It is found out once for each request, before anything of it is read; the route's own parameter
    gets what was found.
    """
    known: tuple[Needs, Principal] | None = getattr(request.state, "admitted", None)
    if known is not None and known[0] == demanded:
        return known[1]
    principal = await _admitted(request, demanded)
    request.state.admitted = (demanded, principal)
    return principal


async def _admitted(request: Request, demanded: Needs) -> Principal:
    if demanded.carried is not None:
        name = await demanded.carried(request)
        request.state.carried = name
        if name is not None:
            return Principal(name=name, role=Role.READER)
        if demanded.only_carried:
            raise Problem("credentials_missing", "the request has to carry its own credential")
    principal = await principal_of(request, walk_ins=demanded.walk_ins)
    check_role(principal, demanded)
    return principal


def check_role(principal: Principal, demanded: Needs) -> None:
    """Raise a problem unless the principal may do what a route does."""
    if demanded.permission is not None:
        if not principal.may(demanded.permission):
            raise Problem(
                "role_missing",
                f"this takes the permission {demanded.permission}, or an operator of every owner's "
                "jobs; use a token that has it",
                role=principal.role,
                needed=demanded.role,
                permission=demanded.permission,
            )
        return
    least = demanded.role if principal.owner is None else demanded.of_own or demanded.role
    if not principal.role.may(least):
        raise Problem(
            "role_missing",
            f"this takes the role {least}, and {principal.name} is a {principal.role}; "
            "use a token of that role",
            role=principal.role,
            needed=least,
        )
    if demanded.every_owner and principal.owner is not None:
        raise Problem(
            "scope_missing",
            "this concerns the jobs of every owner, and your token is for one; "
            "use a token that is for every owner",
        )


Reader = Annotated[Principal, Depends(needs(Role.READER))]
Submitter = Annotated[Principal, Depends(needs(Role.SUBMITTER))]
Operator = Annotated[Principal, Depends(needs(Role.OPERATOR))]
ReaderOfAll = Annotated[Principal, Depends(needs(Role.READER, every_owner=True))]
ReaderOrAnonymous = Annotated[Principal, Depends(needs(Role.READER, walk_ins=True))]
SubmitterOrWalkIn = Annotated[Principal, Depends(needs(Role.SUBMITTER, walk_ins=True))]
OwnerOrOperator = Annotated[
    Principal, Depends(needs(Role.OPERATOR, of_own=Role.SUBMITTER, walk_ins=True))
]
OperatorOfAll = Annotated[Principal, Depends(needs(Role.OPERATOR, every_owner=True))]
