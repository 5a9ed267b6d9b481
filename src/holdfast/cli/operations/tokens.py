"""`holdfast tokens`: who may come in over HTTP."""

from __future__ import annotations

from typing import Any, Final

import click

from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Column, Styled
from holdfast.cli.shell.program import Command, Group
from holdfast.core.values.instant import Instant
from holdfast.core.values.role import Role
from holdfast.engine.tokens import TokenView
from holdfast.views.durations import span

_COLUMNS: Final = (
    Column("TOKEN"),
    Column("NAME", elastic=True),
    Column("ROLE"),
    Column("OWNER"),
    Column("MAY"),
    Column("STATE"),
    Column("MADE", numeric=True),
    Column("BY"),
)
_EVERYBODY: Final = "(every owner's)"


@click.group("tokens", cls=Group)
def tokens() -> None:
    """Let people and programs in over HTTP, and keep them out again."""


@tokens.command("create", cls=Command, example="holdfast tokens create dashboard --role reader")
@click.argument("name", type=text)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="What its bearer may do: look, also submit, or everything.",
)
@click.option(
    "--owner", type=text, help="Whose jobs its bearer sees and acts on; everybody's by default."
)
@click.option(
    "--may",
    type=text,
    multiple=True,
    metavar="PERMISSION",
    help="What else its bearer may do, by the name a system gives it; may be repeated.",
)
@by_option
@pass_invocation
def create_token(
    invocation: Invocation,
    name: str,
    *,
    role: str,
    owner: str | None,
    may: tuple[str, ...],
    by: str | None,
) -> None:
    """Make a token and print it: once, because only a hash of it is kept.

    NAME says who or what it is for; the audit record shows it for all that its bearer does.
    """
    engine, output = invocation.engine(), invocation.output
    view, secret = engine.tokens.create(
        name, role=role, owner=owner, permissions=may, by=by or os_user()
    )
    if output.as_json:
        output.document({**view.to_document(), "token": secret})
        return
    output.line(secret)
    output.remark(f"Token {view.id} of {view.name} is made; it is not shown again.")
    output.remark("Send it as: Authorization: Bearer …")


@tokens.command("list", cls=Command, example="holdfast tokens list")
@pass_invocation
def list_tokens(invocation: Invocation) -> None:
    """List every token there ever was, the newest first."""
    engine, output = invocation.engine(), invocation.output
    found = engine.tokens.list()
    now = engine.clock.now()
    if output.as_json:
        for view in found:
            output.document(view.to_document())
    elif found:
        output.table(_COLUMNS, (_row(view, now) for view in found))
    else:
        output.remark(
            "There is no token; make one with: holdfast tokens create NAME --role operator"
        )


@tokens.command(
    "revoke", cls=Command, example="holdfast tokens revoke 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("token_id", type=text, metavar="TOKEN")
@click.option("--reason", type=text, help="Why; kept in the audit log.")
@by_option
@pass_invocation
def revoke_token(invocation: Invocation, token_id: str, reason: str | None, by: str | None) -> None:
    """Let nobody in by a token from now on, sessions begun with it included.

    TOKEN is its id, as the list shows it.
    """
    view = invocation.engine().tokens.revoke(token_id, by=by or os_user(), reason=reason)
    if invocation.as_json:
        invocation.output.document(view.to_document())
    else:
        invocation.output.line(f"Token {view.id} of {view.name} is revoked.")


def _row(view: TokenView, now: Instant) -> list[Any]:
    state = Styled("revoked", "dim") if view.revoked else Styled("good", "green")
    return [
        view.id,
        view.name,
        view.role.value,
        _EVERYBODY if view.owner is None else view.owner,
        " ".join(view.permissions),
        state,
        f"{span(now - view.created_at)} ago",
        view.created_by,
    ]
