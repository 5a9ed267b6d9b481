"""Systems are found by their entry points, those of third parties too."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import InvalidValue, UsageError
from holdfast.systems import Parts, System, build, find, installed

Install = Callable[..., None]

SOURCE = """
from holdfast.systems import Parts, System

SYSTEM = System(name="{name}", title="Acme", build=lambda environment: Parts())
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package of a third party that brings a system."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def put(name: str, *, source: str = SOURCE, package: str = "acme", called: str = "") -> None:
        module = f"{package}_{name}"
        (tmp_path / f"{module}.py").write_text(source.replace("{name}", called or name))
        described = tmp_path / f"{package}-1.0.dist-info"
        described.mkdir(exist_ok=True)
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        with (described / "entry_points.txt").open("a") as entries:
            entries.write(f"[holdfast.systems]\n{name} = {module}:SYSTEM\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


def test_a_system_of_a_third_party_is_found_by_its_entry_point(install: Install):
    install("parcels")

    assert "parcels" in installed()
    (found,) = find(["parcels"])
    assert (found.name, found.title) == ("parcels", "Acme")


def test_without_names_every_installed_system_is_found(install: Install):
    install("parcels")

    assert [system.name for system in find()] == installed()
    assert "parcels" in installed()


def test_a_name_that_nobody_brings_is_refused_with_those_there_are(install: Install):
    install("parcels")

    with pytest.raises(UsageError, match=r"called .parsels.; installed: .*parcels"):
        find(["parsels"])


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import no_such_module_at_all", "of acme cannot be loaded: ModuleNotFoundError"),
        ("SYSTEM = 5", "is a int, not a holdfast.systems.System"),
        (SOURCE.replace("{name}", "letters"), "calls itself 'letters'"),
    ],
)
def test_a_system_that_cannot_be_loaded_names_the_package(
    install: Install, source: str, complaint: str
):
    install("parcels", source=source)

    with pytest.raises(UsageError, match=complaint):
        find(["parcels"])


def test_two_packages_with_a_system_of_one_name_are_refused(install: Install):
    install("parcels")
    install("parcels", package="zenith")

    with pytest.raises(UsageError, match="two packages bring a system called 'parcels'"):
        find()


def test_a_system_that_refuses_its_environment_is_named():
    def build_parts(environment):
        return Parts(pipelines=environment["PARCELS_URL"])

    system = System(name="parcels", title="Parcels", build=build_parts)

    with pytest.raises(UsageError, match="system 'parcels' cannot be built: KeyError"):
        build([system], {})


def test_the_name_of_a_system_can_be_part_of_an_address():
    with pytest.raises(InvalidValue, match="system: name is 'a/b'"):
        System(name="a/b", title="", build=lambda _: Parts())
