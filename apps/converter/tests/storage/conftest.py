from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer

from converter.storage.contract import Storage
from converter.storage.open import open_storage
from converter.storage.s3 import s3_client


@pytest.fixture(scope="session")
def s3_environment() -> Iterator[dict[str, str]]:
    """The variables that lead to an S3 server on loopback."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    server.stop()


@pytest.fixture
def bucket(s3_environment: dict[str, str]) -> str:
    """The name of an empty bucket."""
    name = f"bucket-{uuid4().hex}"
    s3_client(s3_environment).create_bucket(Bucket=name)
    return name


@pytest.fixture(params=["disk", "s3"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty storage is, once for each kind."""
    if request.param == "disk":
        return str(tmp_path / "kept")
    return f"s3://{request.getfixturevalue('bucket')}/some/prefix"


@pytest.fixture
def environment(location: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The variables that the storage there needs."""
    return request.getfixturevalue("s3_environment") if location.startswith("s3://") else {}


@pytest.fixture
def storage(location: str, environment: dict[str, str]) -> Storage:
    return open_storage(location, label="results", environment=environment, min_free_bytes=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"
