"""`collabiq config`: what collabiq is set to, where that comes from, and whether it will do."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import click

from collabiq.cli.opening import opened
from collabiq.cli.output import (
    CommandFailed,
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    remark,
    reports_errors,
    table,
)
from collabiq.cli.services import Services, env_file_problem
from collabiq.settings.config import REQUIRED_SECRETS
from collabiq.settings.sources import config_document
from holdfast.errors import HoldfastError

_STYLES: Final = {"ok": "green", "note": "yellow", "fault": "red"}


class Finding(NamedTuple):
    """What was looked at, and how it is: `ok`, `note` or `fault`."""

    what: str
    level: str
    text: str


@click.group()
def config() -> None:
    """Look at the settings: each is a variable of the environment.

    COLLABIQ_ before a name sets it for collabiq alone and wins. Secrets come from Infisical, from
    ENV_FILE or from the environment, in this order, and are never printed.
    """


@config.command()
@click.option("--changed", is_flag=True, help="Only what is not at its default.")
@json_option
@reports_errors
def show(*, changed: bool, as_json: bool) -> None:
    """Show every setting, its value and where that comes from; secrets are masked.

    Example: collabiq config show --changed
    """
    own = Services()
    found = [each for each in settings_of(own) if not changed or each["source"] != "default"]
    if as_json:
        document({"settings": found})
        return
    table(
        ("NAME", "VALUE", "SOURCE"),
        ((each["name"], each["value"], each["source"]) for each in found),
    )


@config.command()
@click.argument("name")
@json_option
@reports_errors
def get(*, name: str, as_json: bool) -> None:
    """Print the value of one setting; of a secret only whether it is there.

    Ends with 4 for a name that collabiq does not know.

    Example: collabiq config get POLL_INTERVAL_MS
    """
    own = Services()
    known = {each["name"]: each for each in settings_of(own)}
    found = known.get(name.upper().removeprefix("COLLABIQ_"))
    if found is None:
        raise CommandFailed(
            ExitCode.VALIDATION, f"there is no setting {name!r}; collabiq config show has all"
        )
    if as_json:
        document(found)
        return
    line("" if found["value"] is None else str(found["value"]))
    remark(f"from: {found['source']}")


@config.command()
@json_option
@reports_errors
def validate(*, as_json: bool) -> None:
    """Check settings, secrets, the folder for files and the database; call no API but Infisical.

    Ends with 2 where something has to be done before collabiq can run.

    Example: collabiq config validate
    """
    findings = [finding for look in _LOOKS for finding in _looked(look)]
    faulty = any(finding.level == "fault" for finding in findings)
    if as_json:
        document({"ok": not faulty, "findings": [each._asdict() for each in findings]})
    else:
        _print_findings(findings)
    if faulty:
        exit_with(ExitCode.CONFIGURATION)


@config.command("test-secrets")
@json_option
@reports_errors
def test_secrets(*, as_json: bool) -> None:
    """Fetch the secrets, and show where each was found; no value is printed.

    Ends with 3 where Infisical is set up and gives none, and with 2 where a secret that is needed
    is found nowhere.

    Example: collabiq config test-secrets
    """
    own = Services()
    began_s = time.monotonic()
    found = {name: own.found(name) for name in REQUIRED_SECRETS}
    took_s = time.monotonic() - began_s
    needed = set(own.config.required_secrets)
    failed = None if own.outage is None else str(own.outage)
    enabled = own.config.infisical.enabled
    rows = [
        {
            "name": name,
            "found": each is not None,
            "source": None if each is None else each.origin,
            "needed": name in needed,
        }
        for name, each in found.items()
    ]
    missing = [row["name"] for row in rows if row["needed"] and not row["found"]]
    if as_json:
        state = {"enabled": enabled, "seconds": round(took_s, 3), "failure": failed}
        document({"ok": not missing and not failed, "infisical": state, "secrets": rows})
    else:
        table(
            ("NAME", "FOUND", "SOURCE"),
            ((row["name"], _found_words(row), row["source"]) for row in rows),
        )
        if enabled and failed is None:
            remark(f"Infisical answered in {took_s:.2f} s")
    if missing:
        exit_with(ExitCode.CONFIGURATION, f"found nowhere: {', '.join(map(str, missing))}")
    if failed is not None:
        exit_with(ExitCode.API, failed)


def settings_of(own: Services) -> list[dict[str, Any]]:
    """Return every setting with its source; secrets are masked."""
    found: list[dict[str, Any]] = config_document(own.secrets, own.environment)["settings"]
    return found


def _found_words(row: dict[str, Any]) -> str:
    if row["found"]:
        return "yes"
    return "NO" if row["needed"] else "no, and not needed"


def _print_findings(findings: list[Finding]) -> None:
    for finding in findings:
        text = f"{finding.level:<6} {finding.what:<10} {finding.text}"
        line(text, style=_STYLES[finding.level])


def _looked(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    name = look.__name__.strip("_")
    try:
        return list(look())
    except HoldfastError as error:
        return [Finding(name, "fault", str(error))]


def _settings() -> Iterator[Finding]:
    own = Services()
    given = own.config
    flaw = env_file_problem(own)
    yield Finding("settings", "ok", f"{len(own.variables.readings)} names can be read")
    if flaw is not None:
        yield Finding("env file", "fault", flaw)
    if given.email_address is None:
        said = "none: nothing is polled, and mails are taken by hand only (EMAIL_ADDRESS)"
        yield Finding("mailbox", "note", said)
    else:
        yield Finding("mailbox", "ok", given.email_address)
    if given.llm_order[0] == "offline":
        said = "the rules: everything they find is for a person to look at (LLM_ORDER)"
        yield Finding("model", "note", said)
    else:
        yield Finding("model", "ok", f"{given.gemini_model} ({','.join(given.llm_order)})")


def _secrets() -> Iterator[Finding]:
    own = Services()
    needed = own.config.required_secrets
    missing = [name for name in needed if own.found(name) is None]
    outage = own.outage
    if outage is not None:
        yield Finding("infisical", "note" if not missing else "fault", str(outage))
    if missing:
        yield Finding("secrets", "fault", f"found nowhere: {', '.join(missing)}")
    else:
        yield Finding("secrets", "ok", f"{len(needed)} are needed, and found")


def _files() -> Iterator[Finding]:
    own = Services()
    folder, least = own.config.data_dir, own.config.data_min_free_bytes
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    if not os.access(nearest, os.W_OK):
        yield Finding("files", "fault", f"{folder} cannot be written to (DATA_DIR)")
    elif free < least:
        said = f"{folder} has {free} bytes left, less than DATA_MIN_FREE_BYTES: nothing is polled"
        yield Finding("files", "fault", said)
    else:
        yield Finding("files", "ok", f"are kept in {folder}")


def _database() -> Iterator[Finding]:
    with opened() as system:
        system.collabiq.circuits.list()
    yield Finding("database", "ok", "can be read and has the tables")


_LOOKS: Final = (_settings, _secrets, _files, _database)
