"""What only buckets have to promise."""

import pytest

from converter.storage.errors import StorageFailed
from converter.storage.open import open_storage
from converter.storage.s3 import s3_client

NAME = "job-1.xml"


def test_objects_lie_below_the_prefix(bucket, s3_environment):
    storage = open_storage(f"s3://{bucket}/a/b/", label="results", environment=s3_environment)
    storage.put(NAME, [b"abc"])

    listed = s3_client(s3_environment).list_objects_v2(Bucket=bucket)["Contents"]

    assert [found["Key"] for found in listed] == ["a/b/job-1.xml"]


def test_two_prefixes_of_a_bucket_know_nothing_of_each_other(bucket, s3_environment):
    first, second = (
        open_storage(f"s3://{bucket}{prefix}", label="results", environment=s3_environment)
        for prefix in ("", "/second")
    )
    second.put(NAME, [b"abc"])

    assert not first.exists(NAME)


def test_a_bucket_that_is_not_there_is_a_failure_and_not_a_missing_file(s3_environment):
    storage = open_storage("s3://nobody-made-it/p", label="results", environment=s3_environment)

    with pytest.raises(StorageFailed, match="NoSuchBucket"):
        storage.put(NAME, [b"abc"])
    with pytest.raises(StorageFailed, match="NoSuchBucket"), storage.open(NAME):
        pass


def test_a_service_that_cannot_be_reached_is_a_failure(s3_environment):
    nowhere = s3_environment | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    storage = open_storage("s3://bucket/p", label="results", environment=nowhere)

    with pytest.raises(StorageFailed, match="EndpointConnectionError"):
        storage.put(NAME, [b"abc"])
    with pytest.raises(StorageFailed):
        storage.exists(NAME)
