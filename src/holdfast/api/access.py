"""Who may do what: every route under `/api` demands a role, before it looks at what was sent.

A route says so with one of the parameters `Reader`, `Submitter`, `Operator`, `ReaderOfAll` or
`OperatorOfAll`, which is then the `Principal`. A route that says nothing cannot be made.
`ReaderOrAnonymous`, `SubmitterOrWalkIn` and `OwnerOrOperator` also let people in who have no
credentials, where that is switched on; whatever they are let see or do has to name their owner.
There they are owners also on this machine while it needs no credentials, and not its operators.
What a route answers about failures goes through `shown_to`.
A route whose path holds the credential says that instead, by `path_credential`; one whose query or
body holds it, by `request_credential`.
"""

from __future__ import annotations

from holdfast.api.auth.admission import (
    Operator,
    OperatorOfAll,
    OwnerOrOperator,
    Reader,
    ReaderOfAll,
    ReaderOrAnonymous,
    Submitter,
    SubmitterOrWalkIn,
    needs,
    permitted,
    request_credential,
)
from holdfast.api.auth.principal import Principal, Role
from holdfast.api.auth.visitors import FormToken
from holdfast.api.routing import GuardedRoute, guarded_router
from holdfast.engine.app import Holdfast
from holdfast.views.disclosure import Disclosure

__all__ = [
    "FormToken",
    "GuardedRoute",
    "Operator",
    "OperatorOfAll",
    "OwnerOrOperator",
    "Principal",
    "Reader",
    "ReaderOfAll",
    "ReaderOrAnonymous",
    "Role",
    "Submitter",
    "SubmitterOrWalkIn",
    "guarded_router",
    "needs",
    "permitted",
    "request_credential",
    "shown_to",
]


def shown_to(who: Principal, engine: Holdfast) -> Disclosure:
    """Return what this principal may see of jobs, their failures and what is done about them."""
    return engine.disclosure(end_user=who.is_end_user)
