"""Objects in an S3-compatible bucket.

A draft is gathered in a temporary file of this machine, which has no name, and sent as one object:
the bucket shows all of it or nothing, and a process that is killed leaves nothing behind.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from converter.storage.contract import CHUNK_BYTES, Draft, Reading, Storage, missing
from converter.storage.errors import (
    BadName,
    StorageError,
    StorageFailed,
    StorageFull,
    StorageMissing,
)
from converter.storage.names import checked_name

_IN_MEMORY_BYTES: Final = 1024 * 1024
_CONNECT_TIMEOUT_S: Final = 5
_READ_TIMEOUT_S: Final = 30
_CALLS: Final = 3
_CONNECTIONS: Final = 64
_QUESTIONS: Final = 16
"""How many names are asked for at a time: the service answers one name a request."""
_DEFAULT_REGION: Final = "us-east-1"
_MISSING: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_TAKEN: Final = frozenset({"PreconditionFailed", "412"})
_NO_ROOM: Final = frozenset({"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "507"})


class S3Client(Protocol):
    """What is asked of a client of boto3."""

    def put_object(self, **request: Any) -> Any: ...  # noqa: ANN401, D102 - as boto3 has it
    def get_object(self, **request: Any) -> Any: ...  # noqa: ANN401, D102
    def head_object(self, **request: Any) -> Any: ...  # noqa: ANN401, D102
    def delete_object(self, **request: Any) -> Any: ...  # noqa: ANN401, D102
    def get_paginator(self, operation: str) -> Any: ...  # noqa: ANN401, D102


def s3_client(environment: Mapping[str, str]) -> S3Client:
    """Return a client for the service that the usual variables of AWS name.

    Credentials that are not among them are looked for where boto3 always does.
    """
    made: S3Client = boto3.client(
        "s3",
        endpoint_url=environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL"),
        region_name=environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or _DEFAULT_REGION,
        aws_access_key_id=environment.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=environment.get("AWS_SESSION_TOKEN"),
        config=Config(
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
            max_pool_connections=_CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": _CALLS},
        ),
    )
    return made


class S3Storage(Storage):
    """Keeps objects below a prefix of one bucket, which has to be there."""

    def __init__(self, client: S3Client, *, bucket: str, prefix: str, label: str) -> None:
        self.label = label
        self._client, self._bucket = client, bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    def draft(self, name: str) -> Draft:
        """Begin to write."""
        return _S3Draft(self._put, key=self._key(name), label=self.label)

    @contextmanager
    def open(self, name: str) -> Iterator[Reading]:
        """Open what is kept under the name, or raise `StorageMissing`."""
        with _raised_as_ours(self.label, "read"):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._key(name))
        body = answer["Body"]
        try:
            yield _S3Reading(body, size=int(answer["ContentLength"]), label=self.label)
        finally:
            # A connection with unread bytes in it is of no more use.
            body.close()

    def size_if_there(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing."""
        key = self._key(name)
        try:
            with _raised_as_ours(self.label, "look for the object"):
                return int(self._client.head_object(Bucket=self._bucket, Key=key)["ContentLength"])
        except StorageMissing:
            return None

    def those_there(self, names: Collection[str]) -> set[str]:
        """Return those of the names that something is kept under; many are asked for at a time."""
        asked = list(names)
        with ThreadPoolExecutor(_QUESTIONS, thread_name_prefix="converter-s3") as pool:
            found = pool.map(self.exists, asked)
            return {name for name, there in zip(asked, found, strict=True) if there}

    def remove(self, name: str) -> bool:
        """Remove what is kept under the name, and tell whether there was anything."""
        there = self.exists(name)
        with _raised_as_ours(self.label, "remove the object"):
            self._client.delete_object(Bucket=self._bucket, Key=self._key(name))
        return there

    def written_before(self, instant: datetime) -> Iterator[str]:
        """Yield the names of what was written before the instant, for retention."""
        with _raised_as_ours(self.label, "list the objects"):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix):
                for found in page.get("Contents", ()):
                    name = found["Key"].removeprefix(self._prefix)
                    if found["LastModified"] < instant and self._is_ours(name):
                        yield name

    def sweep(self) -> int:
        """Nothing is ever left unfinished."""
        return 0

    def check_room(self) -> None:
        """A bucket says that it is full when it is written to."""

    def _is_ours(self, name: str) -> bool:
        try:
            checked_name(name, label=self.label)
        except BadName:
            return False
        return True

    def _key(self, name: str) -> str:
        return f"{self._prefix}{checked_name(name, label=self.label)}"

    def _put(self, **request: Any) -> None:  # noqa: ANN401 - as boto3 has it
        self._client.put_object(Bucket=self._bucket, **request)


class _S3Reading:
    def __init__(self, body: Any, *, size: int, label: str) -> None:  # noqa: ANN401 - of botocore
        self._body, self.size, self._label = body, size, label

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with _raised_as_ours(self._label, "read the object"):
                chunk: bytes = self._body.read(CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


class _S3Draft(Draft):
    def __init__(self, put: Callable[..., None], *, key: str, label: str) -> None:
        super().__init__()
        self._put, self._key, self._label = put, key, label
        self._gathered = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115

    def _append(self, chunk: bytes) -> None:
        self._check_open()
        with _raised_as_ours(self._label, "gather the object in a temporary file"):
            self._gathered.write(chunk)

    def commit(self, *, if_absent: bool = False) -> bool:
        self._check_open()
        condition = {"IfNoneMatch": "*"} if if_absent else {}
        try:
            with _raised_as_ours(self._label, "write the object"):
                self._gathered.seek(0)
                try:
                    self._put(Key=self._key, Body=self._gathered, **condition)
                except ClientError as error:
                    if if_absent and _code_of(error) in _TAKEN:
                        return False
                    raise
        finally:
            self.discard()
        return True

    def discard(self) -> None:
        self._gathered.close()

    def _check_open(self) -> None:
        if self._gathered.closed:
            raise StorageFailed(self._label, "the object was finished or given up before")


@contextmanager
def _raised_as_ours(label: str, doing: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise _refused(error, label=label, doing=doing) from None
    except (BotoCoreError, HTTPClientError) as error:
        raise StorageFailed(label, f"could not {doing}: {type(error).__name__}") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFull(label, "the disk for temporary files is full") from None
        raise StorageFailed(label, f"could not {doing}: {error.strerror}") from None


def _refused(error: ClientError, *, label: str, doing: str) -> StorageError:
    code = _code_of(error)
    if code in _MISSING:
        return missing(label)
    if code in _NO_ROOM:
        return StorageFull(label, "the storage service is full; free some space in it")
    return StorageFailed(label, f"could not {doing}: the storage service said {code}")


def _code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "nothing"))
