"""From what an operator wrote to the storage it means: a folder, or `s3://bucket/prefix`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from converter.storage.contract import Storage
from converter.storage.disk import DEFAULT_MIN_FREE_BYTES, DiskStorage
from holdfast.errors import InvalidSetting, UsageError

S3_SCHEME: Final = "s3://"
S3_VARIABLES: Final = (
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)
"""Where S3 is and as whom, for places that begin so."""
_LOCATION: Final = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>[A-Za-z0-9_./-]{0,200}))?"
)


def checked_location(location: str, *, variable: str) -> str:
    """Return a place that can be opened, or raise `InvalidSetting` that names the variable."""
    if location.startswith(S3_SCHEME):
        fine = _LOCATION.fullmatch(location) is not None and "/../" not in f"{location}/"
    else:
        fine = "://" not in location and location.isprintable() and bool(location.strip())
    if not fine:
        # Credentials may have been written where none belong.
        shown = location.rpartition("@")[2]
        limit = "a folder, or like s3://bucket/prefix"
        raise InvalidSetting("environment", field=variable, value=shown, limit=limit)
    return location


def open_storage(
    location: str,
    *,
    label: str,
    environment: Mapping[str, str],
    min_free_bytes: int = DEFAULT_MIN_FREE_BYTES,
) -> Storage:
    """Open the storage at a place, and remove what killed processes left there.

    `environment` says where S3 is and as whom, in the usual variables of AWS.
    """
    match = _LOCATION.fullmatch(checked_location(location, variable=label))
    if match is None:
        storage: Storage = DiskStorage(Path(location), label=label, min_free_bytes=min_free_bytes)
    else:
        storage = _bucket(match["bucket"], match["prefix"] or "", label, environment)
    storage.sweep()
    return storage


def _bucket(bucket: str, prefix: str, label: str, environment: Mapping[str, str]) -> Storage:
    # An extra: who keeps files in folders does not need boto3.
    try:
        from converter.storage.s3 import S3Storage, s3_client  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"{label} are to be kept in S3, which needs {error.name}; "
            "install it: pip install 'holdfast-converter[s3]'"
        ) from None
    return S3Storage(s3_client(environment), bucket=bucket, prefix=prefix, label=label)
