import pytest

from converter.storage.disk import DiskStorage
from converter.storage.open import checked_location, open_storage
from converter.storage.s3 import S3Storage
from holdfast.errors import InvalidSetting


def test_a_folder_is_made_where_none_is(tmp_path):
    storage = open_storage(str(tmp_path / "a" / "b"), label="uploads", environment={})

    assert isinstance(storage, DiskStorage)
    assert (tmp_path / "a" / "b").is_dir()


def test_a_bucket_is_opened_without_calling_anybody():
    environment = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-central-1"}

    assert isinstance(
        open_storage("s3://bucket", label="uploads", environment=environment), S3Storage
    )


def test_opening_a_folder_removes_what_killed_processes_left(tmp_path):
    (tmp_path / ".job-1.xml.0123.part").write_bytes(b"half")

    open_storage(str(tmp_path), label="uploads", environment={})

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "location",
    [
        "",
        " ",
        "s3://",
        "s3://B",
        "s3://UPPER/p",
        "s3://bucket/../other",
        "s3://bucket/pre fix",
        "s3://user:secret@bucket/p",
        "https://bucket.example/p",
        "file:///tmp/kept",
        "a\x00b",
        "a\nb",
    ],
)
def test_a_place_that_is_none_is_told_with_its_variable(location):
    with pytest.raises(InvalidSetting, match="RESULTS_DIR") as raised:
        checked_location(location, variable="RESULTS_DIR")

    assert "s3://bucket/prefix" in str(raised.value)
    assert "secret" not in str(raised.value)
