"""`holdfast export`: files for other programs."""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command, Group
from holdfast.engine.app import Holdfast
from holdfast.errors import UsageError
from holdfast.systems import find

RUNBOOK: Final = "docs/runbook.md"
"""Where the rules say the runbook is, by default."""


@click.group("export", cls=Group)
def export() -> None:
    """Print files for other programs: a dashboard, alert rules, the API's description."""


_system = click.option(
    "--system", metavar="NAME", help="Those of an installed system instead of the engine's."
)


@export.command("grafana", cls=Command, example="holdfast export grafana > dashboard.json")
@_system
@pass_invocation
def export_grafana(invocation: Invocation, *, system: str | None) -> None:
    """Print a dashboard for Grafana; it asks for its data source when it is imported."""
    document = json.loads(_text("grafana.json", system))
    if invocation.as_json:
        invocation.output.document(document)
    else:
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))


@export.command("alerts", cls=Command, example="holdfast export alerts > alerts.yml")
@click.option("--runbook-url", metavar="URL", default=RUNBOOK, help="Where your runbook is.")
@_system
@pass_invocation
def export_alerts(invocation: Invocation, *, runbook_url: str, system: str | None) -> None:
    """Print alert rules for Prometheus, each with its place in the runbook."""
    rules = _text("alerts.yml", system).replace(f"{RUNBOOK}#", f"{runbook_url}#")
    if invocation.as_json:
        invocation.output.document({"alerts": rules})
    else:
        click.echo(rules, nl=False)


@export.command("openapi", cls=Command, example="holdfast export openapi > openapi.json")
@pass_invocation
def export_openapi(invocation: Invocation) -> None:
    """Print the description of the HTTP API, as OpenAPI 3.1. No database is needed."""
    try:
        from holdfast.api import create_api  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("the API takes an extra: pip install 'holdfast[api]'") from error
    with Holdfast("sqlite://:memory:") as nothing:
        document = create_api(nothing).openapi()
    if invocation.as_json:
        invocation.output.document(document)
    else:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _text(name: str, system: str | None) -> str:
    """Return a file of the engine's, or of an installed system's."""
    package = "holdfast.ops"
    if system is not None:
        (found,) = find([system])
        if found.ops is None:
            raise UsageError(f"system {system} brings neither alert rules nor a dashboard")
        package = found.ops
    return (resources.files(package) / name).read_text("utf-8")
