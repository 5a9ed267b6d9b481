"""What holds for every command: help, --json, errors, exit codes."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from holdfast.cli.main import program
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.program import Program
from holdfast.cli.shell.setting_option import SettingOption
from holdfast.errors import UsageError
from tests.cli.conftest import Command, error_of


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)


EVERY = sorted(commands(program))


def test_the_commands_are_those_that_are_documented():
    assert [" ".join(path) for path in EVERY] == [
        "config show",
        "dead export",
        "dead groups",
        "dead import",
        "dead list",
        "dead remediate",
        "dead replay",
        "dead replays",
        "dead resolve",
        "dead show",
        "dead triage",
        "deliveries list",
        "deliveries reconcile",
        "deliveries resolve",
        "deliveries show",
        "dev",
        "dispatch",
        "doctor",
        "erase",
        "export alerts",
        "export grafana",
        "export openapi",
        "init",
        "jobs cancel",
        "jobs list",
        "jobs retry",
        "jobs show",
        "jobs watch",
        "mcp",
        "migrate",
        "outbox list",
        "outbox retry",
        "outbox show",
        "purge",
        "queues list",
        "queues pause",
        "queues resume",
        "relay",
        "serve",
        "submit",
        "tokens create",
        "tokens list",
        "tokens revoke",
        "up",
        "upstreams close",
        "upstreams list",
        "upstreams open",
        "upstreams probe",
        "upstreams reset",
        "upstreams show",
        "verify",
        "version",
        "worker",
        "workers drain",
        "workers list",
    ]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_help_and_takes_json(holdfast: Command, path: tuple[str, ...]):
    result = holdfast(*path, "--help")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "--json" in result.stdout
    assert "-A, --app MODULE:APP" in result.stdout


@pytest.mark.parametrize("path", [(), ("jobs",)], ids=" ".join)
def test_without_a_command_the_help_is_shown_and_that_is_no_success(
    holdfast: Command, path: tuple[str, ...]
):
    result = holdfast(*path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == holdfast(*path, "--help").stdout


def test_the_exit_codes_are_in_the_help(holdfast: Command):
    help_text = holdfast("--help").stdout

    for code in ExitCode:
        if code is not ExitCode.INTERRUPTED:
            assert f"\n    {int(code)}  " in help_text


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_an_unknown_option_is_a_usage_error_in_two_lines(holdfast: Command, path: tuple[str, ...]):
    result = holdfast(*path, "--frobnicate")

    assert (result.exit_code, result.stdout) == (2, "")
    first, second = result.stderr.splitlines()
    assert first.startswith("Error: No such option")
    assert second == f"Try 'holdfast {' '.join(path)} --help' for help."


def test_a_usage_error_can_be_read_by_a_program(holdfast: Command):
    result = holdfast("jobs", "list", "--limit", "many", "--json")

    assert result.exit_code == 2
    error = error_of(result)
    assert (error["code"], error["exit_code"]) == ("usage", 2)
    assert "'many'" in error["message"]


def test_common_options_may_stand_before_the_command_and_after_it(
    holdfast: Command, database_url: str
):
    holdfast("migrate", "--database-url", database_url)

    before = holdfast("--database-url", database_url, "--json", "verify")
    after = holdfast("verify", "--json", "--database-url", database_url)

    assert before.stdout == after.stdout
    assert json.loads(after.stdout)["sound"] is True


def test_an_app_and_a_url_together_are_refused(holdfast: Command):
    result = holdfast("jobs", "list", "-A", "shop:app", "--database-url", "sqlite:///x.db")

    assert result.exit_code == 2
    assert "give -A or --database-url, not both" in result.stderr


def test_a_url_on_the_command_line_wins_over_an_app_in_the_environment(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_APP", "no_such_module:app")
    holdfast("migrate", "--database-url", "sqlite:///x.db")

    result = holdfast("jobs", "list", "--database-url", "sqlite:///x.db")

    assert (result.exit_code, result.stderr) == (0, "There are no jobs.\n")


def test_without_a_database_the_ways_to_name_one_are_said(holdfast: Command):
    result = holdfast("jobs", "list")

    assert result.exit_code == 5
    assert "sqlite:///holdfast.db" in result.stderr
    assert "name another with -A, --database-url or HOLDFAST_DATABASE_URL" in result.stderr


def test_without_a_name_the_database_is_the_one_of_make_run(holdfast: Command):
    assert holdfast("migrate").exit_code == 0
    result = holdfast("jobs", "list")

    assert (result.exit_code, result.stderr) == (0, "There are no jobs.\n")


def test_the_version_is_printed(holdfast: Command):
    assert holdfast("version").stdout.startswith("holdfast ")
    assert json.loads(holdfast("version", "--json").stdout)["holdfast"]
    assert holdfast("--version").stdout.startswith("holdfast, version ") or holdfast(
        "--version"
    ).stdout.startswith("holdfast ")


def test_an_unexpected_error_is_one_line_unless_asked_for_more(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    Path("prog_odd.py").write_text("def make():\n    raise RuntimeError('odd')\n")

    quiet = holdfast("jobs", "list", "-A", "prog_odd:make")
    monkeypatch.setenv("HOLDFAST_DEBUG", "1")
    loud = holdfast("jobs", "list", "-A", "prog_odd:make")

    assert (quiet.exit_code, len(quiet.stderr.splitlines())) == (2, 1)
    assert "Traceback" not in quiet.output
    assert loud.exception is not None
    assert not isinstance(loud.exception, SystemExit)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path):
    result = subprocess.run(
        [sys.executable, "-m", "holdfast", "jobs", "list", "--key", b"\xff\xfe"],
        capture_output=True,
        check=False,
        env={**os.environ, "HOLDFAST_DATABASE_URL": "sqlite:///x.db"},
    )

    assert result.returncode == 2
    assert b"printable" in result.stderr


def test_a_reader_that_goes_away_is_no_traceback(holdfast: Command):
    holdfast("migrate", "--database-url", "sqlite:///x.db")

    result = subprocess.run(
        f"{sys.executable} -m holdfast config show --database-url sqlite:///x.db | true",
        shell=True,
        capture_output=True,
        check=False,
    )

    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_an_example_that_it_takes(path: tuple[str, ...]):
    command: click.Command = program
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    example = command.example.partition(" > ")[0]
    words = shlex.split(example)

    assert words[: len(path) + 1] == ["holdfast", *path]
    context = command.make_context(path[-1], words[len(path) + 1 :])  # raises where it does not fit
    assert context.args == []
    assert f"Example:\n  {command.example}\n" in command.get_help(context) + "\n"


@pytest.mark.parametrize("path", [(), ("jobs",), ("dead",), ("deliveries",)], ids=" ".join)
def test_summaries_are_listed_whole(holdfast: Command, path: tuple[str, ...]):
    listed = holdfast(*path, "--help").stdout.partition("Commands:")[2].partition("Exit codes:")[0]
    group: click.Command = program
    for name in path:
        assert isinstance(group, click.Group)
        group = group.commands[name]

    assert isinstance(group, click.Group)
    assert "..." not in listed
    flowing = " ".join(listed.split())
    for command in group.commands.values():
        assert command.get_short_help_str(limit=1_000) in flowing


def test_options_of_settings_show_variable_and_default(holdfast: Command):
    told = " ".join(holdfast("worker", "--help").stdout.split())

    assert "[env: HOLDFAST_CONCURRENCY; default: 10]" in told
    assert "[env: HOLDFAST_LEASE; default: 30s]" in told
    assert "[env: HOLDFAST_ERROR_LOG]" in told


def test_an_option_that_sets_something_names_its_variable():
    flags = {"--no-worker", "--no-services", "--types", "--without-types"}
    for name in ("up", "serve", "dev", "worker", "relay", "dispatch"):
        own = [
            each
            for each in program.commands[name].params
            if isinstance(each, click.Option)
            and not (each.name or "").startswith("common_")
            and not flags & set(each.opts)
        ]
        assert own
        assert all(isinstance(each, SettingOption) for each in own), name


@pytest.mark.parametrize(
    ("typed", "offered"), [("holdfast jo", "jobs"), ("holdfast up --po", "--port")]
)
def test_a_shell_completes_commands_and_options(typed: str, offered: str):
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast"],
        env={**os.environ, "_HOLDFAST_COMPLETE": "bash_complete", **asked},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [f"plain,{offered}"]


def test_a_command_that_fails_while_it_cleans_up_after_ctrl_c_was_interrupted():
    @click.group(cls=Program)
    def root() -> None:
        pass

    @root.command
    def waits() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise UsageError("this thread is inside the store's own transaction")

    result = CliRunner().invoke(root, ["waits"])

    assert (result.exit_code, result.stderr) == (ExitCode.INTERRUPTED, "")
