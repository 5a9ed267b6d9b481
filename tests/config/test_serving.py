"""The settings of what listens: host, port, token, systems, grace."""

from pathlib import Path

import pytest

from tests.config.loading import TOKEN, refusal, settings


def test_nothing_but_this_machine_is_listened_to_unless_told():
    found = settings(Path("/no/such/folder"))

    assert (found.host, found.port, found.api_token, found.systems) == ("127.0.0.1", 8000, None, ())


def test_platforms_give_the_port_as_port_and_the_prefixed_name_wins(tmp_path: Path):
    platform = settings(tmp_path, {"PORT": "5000"})
    both = settings(tmp_path, {"PORT": "5000", "HOLDFAST_PORT": "6000"})

    assert (platform.port, platform.origin("port").name) == (5000, "PORT")
    assert both.port == 6000


@pytest.mark.parametrize("value", ["tcp://10.0.0.7:80", "", "70000", "eighty"])
def test_a_port_of_another_program_is_left_aside(tmp_path: Path, value: str):
    assert settings(tmp_path, {"PORT": value}).port == 8000


def test_the_grace_has_a_second_name(tmp_path: Path):
    assert settings(tmp_path, {"HOLDFAST_SHUTDOWN_GRACE": "45s"}).worker.grace == 45


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"HOLDFAST_PORT": "70000"}, "HOLDFAST_PORT is '70000'; it must be a whole number from 0"),
        ({"HOLDFAST_PORT": "http"}, "HOLDFAST_PORT is 'http'; it must be a whole number from 0"),
        ({"HOLDFAST_HOST": "0.0.0.0:80/x"}, "it must be a name or an address to listen on"),
        ({"HOLDFAST_HOST_NAMES": "example.org:443"}, "it must be host names without a port"),
        ({"HOLDFAST_HTTPS": "perhaps"}, "HOLDFAST_HTTPS is 'perhaps'; it must be true or false"),
        ({"HOLDFAST_SYSTEMS": "a b"}, "HOLDFAST_SYSTEMS is 'a b'; it must be system names"),
    ],
)
def test_a_value_that_cannot_be_listened_on_is_refused(
    tmp_path: Path, environment: dict[str, str], said: str
):
    assert said in refusal(tmp_path, environment)


@pytest.mark.parametrize(
    "weak", ["secret", "operator", "hunter2hunter2", "spaces are not fine here"]
)
def test_a_weak_token_is_refused_and_not_shown(tmp_path: Path, weak: str):
    told = refusal(tmp_path, {"HOLDFAST_API_TOKEN": weak})

    assert "HOLDFAST_API_TOKEN is '…'; it must be 20 to 255 letters" in told
    assert weak not in told


def test_a_token_may_be_kept_in_a_file_and_is_never_shown(tmp_path: Path):
    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN}\n")

    found = settings(tmp_path, {"HOLDFAST_API_TOKEN_FILE": str(secret)})

    assert found.api_token == TOKEN
    assert TOKEN not in repr(found)
    shown = {name: value for name, value, _ in found.shown()}
    assert shown["api_token"] == "***"
    assert TOKEN not in str(shown)
