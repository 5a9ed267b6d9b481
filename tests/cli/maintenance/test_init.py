"""`holdfast init`: a small application whose test passes and whose deployments parse."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from holdfast.cli.maintenance.init import TEMPLATES, name_of
from holdfast.config.values import seconds_of
from tests.cli.conftest import Command
from tests.examples.deployments import parsed, settings_of, unit_of


@pytest.fixture
def shop(holdfast: Command) -> Path:
    """A folder that `holdfast init` has made."""
    result = holdfast("init", "shop")
    assert result.exit_code == 0, result.output
    return Path("shop").resolve()


def test_the_generated_test_passes_on_the_generated_application(
    shop: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DATABASE_URL", "set by the test itself")
    monkeypatch.syspath_prepend(shop)
    monkeypatch.setitem(sys.modules, "app", ModuleType("app"))
    del sys.modules["app"]

    found = runpy.run_path(str(shop / "test_app.py"))

    tests = [value for name, value in found.items() if name.startswith("test_")]
    with found["app"]:
        for each in tests:
            each()
    assert len(tests) == 3


def test_every_file_is_written_and_every_place_filled(shop: Path):
    written = {file.name: file.read_text("utf-8") for file in shop.iterdir() if file.is_file()}

    assert set(written) == {name.replace("@name@", "shop") for name in TEMPLATES}
    assert [name for name, text in written.items() if re.search(r"@\w+@", text)] == []
    assert all(text for text in written.values())


def test_what_is_secret_is_new_and_for_its_owner_alone(holdfast: Command, shop: Path):
    holdfast("init", "other")
    first, second = ((folder / ".env").read_text("utf-8") for folder in (shop, Path("other")))
    values = re.findall(r"=(\S+)$", first + second, re.MULTILINE)

    assert len(set(values)) == 4
    assert min(map(len, values)) >= 20
    assert stat.S_IMODE((shop / ".env").stat().st_mode) == 0o600
    assert all(".env" in (shop / name).read_text() for name in (".gitignore", ".dockerignore"))


def test_the_deployments_name_commands_settings_and_files_that_exist(shop: Path, tmp_path: Path):
    text = (shop / "compose.yaml").read_text("utf-8")
    variables = dict(re.findall(r"^(\w+)=(.*)$", (shop / ".env").read_text("utf-8"), re.MULTILINE))
    compose = yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda name: variables[name[1]], text))
    service = compose["services"]["shop"]
    unit = unit_of((shop / "shop.service").read_text("utf-8"))
    image = (shop / "Dockerfile").read_text("utf-8")

    composed = settings_of(dict(service["environment"]), tmp_path)
    of_unit = settings_of(
        dict(value.split("=", 1) for key, value in unit if key == "Environment"), tmp_path
    )

    assert (
        composed.database_url == f"postgresql://shop:{variables['POSTGRES_PASSWORD']}@postgres/shop"
    )
    assert seconds_of(service["stop_grace_period"]) > composed.worker.grace
    assert set(service["depends_on"]) | {"shop"} == set(compose["services"])
    assert seconds_of(dict(unit)["TimeoutStopSec"]) > of_unit.worker.grace
    commands = [
        yaml.safe_load(re.findall(r"^CMD (\[.*\])$", image, re.MULTILINE)[0]),
        shlex.split(dict(unit)["ExecStart"]),
    ]
    for program, *command in commands:
        assert program.rpartition("/")[2] == "holdfast"
        assert command == ["up", "-A", "app:app"]
        parsed(command)
    copied = re.findall(r"^COPY (\S+) \S+$", image, re.MULTILINE)
    assert all((shop / name).exists() for name in copied)
    assert re.search(r"^USER app$", image, re.MULTILINE)


def test_nothing_is_overwritten(holdfast: Command):
    Path("app.py").write_text("mine")

    result = holdfast("init")

    assert result.exit_code == 2
    assert ". has app.py already" in result.stderr
    assert {file.name for file in Path().iterdir()} == {"app.py"}
    assert Path("app.py").read_text() == "mine"


def test_the_files_are_named_and_so_is_what_to_do_next(holdfast: Command):
    for_people = holdfast("init", "one shop")
    for_programs = holdfast("init", "two", "--json")

    assert for_people.stdout.splitlines()[0] == "one shop/app.py"
    assert for_people.stderr.splitlines()[:2] == ["Next:", "  cd 'one shop'"]
    assert json.loads(for_programs.stdout)["files"][0] == "app.py"


def test_an_application_is_named_after_its_folder():
    named = {"shop": "shop", "Shop Orders": "shop-orders", "2031": "jobs-2031", "…": "jobs"}

    assert {folder: name_of(Path("/srv") / folder) for folder in named} == named
