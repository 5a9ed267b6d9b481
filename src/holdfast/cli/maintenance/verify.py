"""`holdfast verify`: the invariants, checked by read-only SQL."""

from __future__ import annotations

import click

from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.output import Column, Styled
from holdfast.cli.shell.program import Command


@click.command("verify", cls=Command, example="holdfast verify -A app:app")
@pass_invocation
def verify(invocation: Invocation) -> int:
    """Check the invariants of the database; change nothing.

    Exits with 1 when an invariant is broken, and names some of the jobs that break it.
    """
    output = invocation.output
    violations = invocation.engine().verify()
    if output.as_json:
        output.document(
            {"sound": not violations, "violations": [one._asdict() for one in violations]}
        )
    elif violations:
        output.table(
            (
                Column("INVARIANT"),
                Column("FOUND", numeric=True),
                Column("FOR EXAMPLE", elastic=True),
            ),
            (
                (Styled(one.invariant, "red"), one.found, ", ".join(one.sample))
                for one in violations
            ),
        )
        for one in violations:
            output.remark(f"{one.invariant}: {one.promise}")
    else:
        output.line("All invariants hold.")
    return ExitCode.FAILED if violations else ExitCode.OK
