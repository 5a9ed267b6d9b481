"""The deployments to copy from: they name commands, settings and routes that exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from holdfast import Holdfast
from holdfast.api import ApiOptions, create_api
from holdfast.config.sources import FURTHER_VARIABLES
from holdfast.config.values import seconds_of
from tests.api.clients import client_of
from tests.examples.deployments import parsed, settings_of, unit_of

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
TOKEN = "hf-Zk3mQ0v7XyTn51LrWbcA"


def read(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def test_the_systemd_unit_runs_up_and_waits_longer_than_the_grace(tmp_path: Path):
    unit = unit_of(read("holdfast.service"))
    environment = dict(value.split("=", 1) for key, value in unit if key == "Environment")
    found = dict(unit)
    command = shlex.split(found["ExecStart"])

    settings = settings_of(environment, tmp_path)

    assert command[0].endswith("/bin/holdfast")
    parsed(command[1:])
    assert command[1] == "up"
    assert seconds_of(found["TimeoutStopSec"]) > settings.worker.grace
    assert (found["KillMode"], found["Restart"]) == ("mixed", "always")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path):
    # What it starts is not installed here, and neither is the user.
    text = re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", read("holdfast.service"))
    copy = tmp_path / "holdfast.service"
    copy.write_text(text)

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )

    complaints = [line for line in done.stderr.splitlines() if "holdfast.service" in line]
    assert complaints == []


def test_the_compose_file_runs_up_and_waits_longer_than_the_grace(tmp_path: Path):
    document = yaml.safe_load(read("compose.yaml"))
    service = document["services"]["holdfast"]

    settings = settings_of(dict(service["environment"]), tmp_path)

    assert service["command"][0] == "holdfast"
    parsed(service["command"][1:])
    assert seconds_of(service["stop_grace_period"]) > settings.worker.grace
    assert settings.host == "0.0.0.0"
    assert set(service["depends_on"]) | {"holdfast"} == set(document["services"])
    named = {name for one in document["services"].values() for name in one.get("secrets", [])}
    assert named == set(document["secrets"])


def test_the_kubernetes_manifest_probes_routes_that_exist(tmp_path: Path):
    documents = list(yaml.safe_load_all(read("kubernetes.yaml")))
    deployment = next(each for each in documents if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {one["name"]: one.get("value", TOKEN) for one in container["env"]}

    settings = settings_of(environment, tmp_path)

    parsed(container["args"][1:])
    assert pod["terminationGracePeriodSeconds"] > settings.worker.grace + 5
    assert str(settings.port) == str(container["ports"][0]["containerPort"])
    options = ApiOptions(host=settings.host, token=settings.api_token, hosts=settings.host_names)
    with (
        Holdfast(f"sqlite:///{tmp_path / 'jobs.db'}") as app,
        client_of(create_api(app, options=options), host="10.1.2.3") as client,
    ):
        for probe in ("livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            headers = {one["name"]: one["value"] for one in asked["httpHeaders"]}
            assert client.get(asked["path"], headers=headers).status_code == 200
            assert client.get("/no/such/probe", headers=headers).status_code == 404
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for each in documents:
        selector = each["spec"]["selector"]
        assert selector.get("matchLabels", selector) == labels


def test_the_image_starts_up_as_process_one():
    (command,) = re.findall(r"^CMD (\[.*\])$", read("Dockerfile"), re.MULTILINE)
    words = yaml.safe_load(command)

    assert words[:2] == ["holdfast", "up"]
    parsed(words[1:])


def test_the_database_is_named_by_a_variable_that_settings_know():
    texts = read("holdfast.service") + read("compose.yaml") + read("kubernetes.yaml")

    assert f"{FURTHER_VARIABLES['database_url'][0]}" in texts
    assert not re.search(r"(?i)password=\w|://\w+:\w+@(?!rabbitmq)", texts)
