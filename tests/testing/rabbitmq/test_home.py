"""A broker is shown what it needs of what was installed."""

from pathlib import Path

import pytest

from holdfast.testing.rabbitmq.home import make_home
from holdfast.testing.servers.unprivileged import Account

INSTALLED = {
    "rabbit-3.1": "[kernel, rabbit_common,\n 'ra']",
    "rabbit_common-3.1": "[stdlib]",
    "ra-2.0": "[ aten ]",
    "aten-0.5": "[]",
    "rabbitmq_management-3.1": "[rabbit, cowboy]",
    "cowboy-2.8": "[]",
    "rabbitmq_mqtt-3.1": "[rabbit]",
}


@pytest.fixture
def binaries(tmp_path) -> Path:
    for folder, needs in INSTALLED.items():
        name = folder.rpartition("-")[0]
        described = tmp_path / "server" / "plugins" / folder / "ebin" / f"{name}.app"
        described.parent.mkdir(parents=True)
        described.write_text(f"{{application, {name}, [{{applications, {needs}}}]}}.")
    for folder in ("sbin", "escript"):
        (tmp_path / "server" / folder).mkdir()
    (tmp_path / "server" / "sbin" / "rabbitmq-server").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rabbitmq-server").symlink_to("../server/sbin/rabbitmq-server")
    return tmp_path / "bin"


@pytest.fixture
def made(tmp_path, binaries):
    def make(*applications):
        return make_home(
            tmp_path / "home",
            binaries=binaries,
            applications=applications,
            owner=Account.for_servers("rabbitmq"),
        )

    return make


@pytest.mark.parametrize(
    ("applications", "more"),
    [
        (["rabbit"], []),
        (["rabbit", "rabbitmq_management"], ["cowboy-2.8", "rabbitmq_management-3.1"]),
    ],
)
def test_it_sees_what_it_was_asked_for_and_what_that_needs(made, applications, more):
    seen = Path(made(*applications)["RABBITMQ_PLUGINS_DIR"])

    expected = ["aten-0.5", "ra-2.0", "rabbit-3.1", "rabbit_common-3.1", *more]
    assert sorted(folder.name for folder in seen.iterdir()) == sorted(expected)
    assert (seen / "ra-2.0" / "ebin" / "ra.app").exists()


def test_its_scripts_are_found_beside_what_it_sees(made):
    variables = made("rabbit")

    scripts = Path(variables["RABBITMQ_SCRIPTS_DIR"])
    assert (scripts / "rabbitmq-server").exists()
    assert {folder.name for folder in scripts.parent.iterdir()} == {"escript", "plugins", "sbin"}


def test_an_installation_of_another_shape_is_used_as_it_is(made, tmp_path):
    assert made("rabbit", "of another release") == {}
    assert not (tmp_path / "home").exists()
