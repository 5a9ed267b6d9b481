"""What `http.client` and the urllib above it raise that is no `OSError`."""

from __future__ import annotations

from typing import Final

from holdfast.classify.rule import Rule, named
from holdfast.classify.verdicts import MISCONFIGURED, NETWORK

URLLIB: Final[tuple[Rule, ...]] = (
    Rule(named("http.client", "IncompleteRead BadStatusLine LineTooLong"), NETWORK),
    Rule(named("http.client", "InvalidURL UnknownProtocol ImproperConnectionState"), MISCONFIGURED),
)
