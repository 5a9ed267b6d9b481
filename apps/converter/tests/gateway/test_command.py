"""The command, and the page that tells of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from apps.converter.tests.gateway.running_gateway import running_gateway
from apps.converter.tests.gateway.schemas import validated
from converter.cli import main
from converter.gateway import Reason
from converter.gateway.command import gateway
from converter.gateway.mappings import MAPPINGS

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
COLUMNS = re.compile(r"^\| `(--[a-z-]+)` \| `([A-Z_]+)` \| (\S+)", re.MULTILINE)

EXAMPLES = re.findall(r"```xml\n(.*?)```", README, re.DOTALL)


def test_every_option_is_on_the_page_with_its_variable_and_its_default():
    told = {option: (variable, default) for option, variable, default in COLUMNS.findall(README)}

    assert set(told) == {parameter.opts[0] for parameter in gateway.params}
    for parameter in gateway.params:
        variable, default = told[parameter.opts[0]]
        assert variable == f"CONVERTER_GATEWAY_{parameter.name.upper()}"
        if parameter.name != "concurrency":
            assert (
                default == f"{parameter.default:g}"
                if isinstance(parameter.default, float)
                else str(parameter.default)
            )


def test_every_reason_to_refuse_a_file_is_on_the_page():
    missing = [reason.value for reason in Reason if f"`{reason.value}`" not in README]

    assert missing == []


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_example_of_a_mapping_is_valid_by_its_schema(mapping):
    [example] = [shown for shown in EXAMPLES if f"urn:holdfast-converter:{mapping}:1" in shown]

    assert "Invoice" in "".join(validated(example.encode(), mapping).itertext())


def test_an_option_is_read_from_the_environment():
    answer = CliRunner().invoke(main, ["gateway"], env={"CONVERTER_GATEWAY_MAX_PAGES": "0"})

    assert answer.exit_code == 2
    assert "'--max-pages': 0 is not in the range" in answer.output


def test_an_engine_that_is_not_installed_is_a_usage_error(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-m", "converter", "gateway", "--engine", "poppler"],
        env=os.environ | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 2
    assert "poppler-utils" in answer.stderr


def test_a_port_that_is_taken_is_a_usage_error(tmp_path, any_engine):
    with running_gateway(tmp_path, any_engine) as running:
        port = str(running.client.base_url.port)
        answer = subprocess.run(
            [sys.executable, "-m", "converter", "gateway", "--port", port],
            capture_output=True,
            text=True,
            check=False,
        )

    assert answer.returncode == 2
    assert f"port {port} of 127.0.0.1 is taken" in answer.stderr


def test_it_ends_well_when_it_is_told_to(tmp_path, any_engine):
    with running_gateway(tmp_path, any_engine) as running:
        assert running.client.get("/health").status_code == 200

    assert running.process.returncode == 0
