"""What commands and settings there are stands in the README, and every help is whole."""

import re
from pathlib import Path

import click

from collabiq.cli import main
from collabiq.settings.config import Config
from holdfast.variables import Variables

COLLABIQ = Path(__file__).parents[2]
PAGES = [COLLABIQ / "README.md", COLLABIQ / "quickstart.md"]


def commands(group=main, name="collabiq"):
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def named(page):
    return set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", page.read_text("utf-8")))))


def test_every_command_takes_json_and_its_help_has_an_example():
    flawed = [
        name
        for name, command in commands()
        if not any("--json" in parameter.opts for parameter in command.params)
        or not re.search(rf"Example: (?:NOTION_FIELD_MAP=.+ )?{name}", command.help or "")
    ]

    assert flawed == []


def test_every_command_is_in_the_readme():
    words = named(COLLABIQ / "README.md")

    missing = [name for name, _ in commands() if not set(name.split()[1:]) <= words]

    assert missing == []


def test_every_setting_is_in_the_readme():
    variables = Variables({}, system="collabiq")
    Config.read(variables)

    assert sorted(set(variables.readings) - named(COLLABIQ / "README.md")) == []


def test_every_link_on_the_pages_leads_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^()\s#]+)[^()\s]*\)", page.read_text("utf-8"))
        if not target.startswith("http") and not (page.parent / target).exists()
    ]

    assert broken == []
