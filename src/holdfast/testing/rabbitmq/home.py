"""The part of an installed RabbitMQ that one broker needs.

A broker looks for each of its thousand modules in the folder of every plugin that was installed
with it, wanted or not: that is a third of what its start takes.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from holdfast.testing.servers.unprivileged import Account

_NEEDS = re.compile(r"\{\s*(?:included_)?applications\s*,\s*\[([^]]*)\]")


def make_home(
    home: Path, *, binaries: Path, applications: tuple[str, ...], owner: Account
) -> dict[str, str]:
    """Return the variables by which the programs see only `applications` and what those need.

    `home` is made for that, for the owner to remove. There are none, and no home, where the
    programs were installed in another way than as folders side by side.
    """
    scripts = (binaries / "rabbitmq-server").resolve().parent
    described = {file.stem: file for file in scripts.parent.glob("plugins/*/ebin/*.app")}
    if not described.keys() >= set(applications):
        return {}
    plugins = home / "plugins"
    for folder in (home, plugins):
        folder.mkdir()
        owner.take_over(folder)
    for name in _closure(applications, described):
        folder = described[name].parent.parent
        (plugins / folder.name).symlink_to(folder)
    for folder in (scripts, scripts.parent / "escript"):
        (home / folder.name).symlink_to(folder)
    return {
        "RABBITMQ_SCRIPTS_DIR": str(home / scripts.name),
        "RABBITMQ_PLUGINS_DIR": str(plugins),
    }


def _closure(applications: tuple[str, ...], described: Mapping[str, Path]) -> set[str]:
    needed: set[str] = set()
    to_look_at = [*applications]
    while to_look_at:
        name = to_look_at.pop()
        if name in described and name not in needed:
            needed.add(name)
            for names in _NEEDS.findall(described[name].read_text(encoding="utf-8")):
                to_look_at += [each.strip(" '\n\t") for each in names.split(",")]
    return needed
