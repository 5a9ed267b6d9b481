"""`holdfast migrate`: the database's schema, step by step forward."""

from __future__ import annotations

import os

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.errors import UsageError
from holdfast.store.schema.system_tables import SystemTables, load_tables
from holdfast.systems import installed_tables


@click.command(
    "migrate",
    cls=Command,
    example="holdfast migrate --database-url postgresql://db.example.org/app",
)
@click.option("--plan", is_flag=True, help="Only list what would be applied.")
@click.option("--sql", is_flag=True, help="Only print the SQL of what would be applied.")
@pass_invocation
def migrate(invocation: Invocation, *, plan: bool, sql: bool) -> None:
    """Bring the schema up to date; workers may run meanwhile.

    After holdfast's own tables come those of the installed systems, or of HOLDFAST_SYSTEMS; with
    -A those that the app names. A migration that is interrupted leaves nothing behind and is
    simply run again.
    """
    if plan and sql:
        raise UsageError("give --plan or --sql, not both")
    looks_only = plan or sql
    store = invocation.engine(may_create=not looks_only).unopened_store
    output = invocation.output
    if not invocation.names_app:
        store.tables = _tables_of_systems(invocation)
    if looks_only:
        pending = store.pending_migrations()
        if output.as_json:
            for name, text in pending:
                output.document({"migration": name, "sql": text} if sql else {"migration": name})
        elif sql:
            for name, text in pending:
                click.echo(f"-- migration {name}\n{text.rstrip()}\n")
        elif pending:
            for name, _ in pending:
                output.line(name)
            output.remark("To apply them: holdfast migrate")
        if not pending:
            output.remark("The schema is up to date.")
        return
    applied = store.migrate()
    if output.as_json:
        output.document({"applied": applied})
        return
    for name in applied:
        output.line(f"applied {name}")
    output.remark("The schema is up to date.")


def _tables_of_systems(invocation: Invocation) -> tuple[SystemTables, ...]:
    """Return the tables of installed systems; one that cannot be built is left to its own start."""
    found, unbuilt = installed_tables(os.environ, invocation.settings.systems or None)
    for reason in unbuilt:
        invocation.output.remark(f"Its tables are left alone: {reason}")
    return load_tables(found)
