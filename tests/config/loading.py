"""Settings loaded, or refused."""

from pathlib import Path

import pytest

from holdfast.config.settings import Settings, load
from holdfast.config.sources import Flag
from holdfast.errors import InvalidSetting

BROKER = "amqp://shop:sesame@broker:5672/"
TOKEN = "hf-Zk3mQ0v7XyTn51LrWbcA"
URL = "postgresql://ada:s3cret@db.example:5432/jobs?sslmode=require&password=s3cret"


def settings(folder: Path, environment: dict[str, str] | None = None, **flags: Flag) -> Settings:
    return load(environment=environment or {}, folder=folder, flags=flags)


def refusal(folder: Path, environment: dict[str, str] | None = None, **flags: Flag) -> str:
    with pytest.raises(InvalidSetting) as caught:
        settings(folder, environment, **flags)
    return str(caught.value)
