import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from converter.storage.contract import Storage
from converter.storage.open import open_storage
from converter.storage.s3 import s3_client


@pytest.fixture(scope="session")
def s3_environment() -> Iterator[dict[str, str]]:
    """The variables that lead to an S3 server on loopback."""
    answer = _one_write_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, answer, threaded=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield {
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    server.shutdown()
    serving.join()
    server.server_close()


def _one_write_at_a_time(answer: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Return the application with writes that exclude each other.

    S3 makes an object if there is none in one step, and moto in two.
    """
    writing = threading.Lock()

    def answered(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in {"PUT", "POST"}:
            return answer(environ, start)
        with writing:
            return answer(environ, start)

    return answered


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
