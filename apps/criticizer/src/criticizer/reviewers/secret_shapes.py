"""What secrets look like."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SHAPES: Final = (
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----")),
    ("an access key of AWS", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a token of GitHub", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,255})\b")),
    ("a token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,100}\b")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,250}")),
    ("an API key", re.compile(r"\b(?:sk|rk)[-_](?:live_|test_|ant-|proj-)?[A-Za-z0-9_-]{20,250}")),
    ("an API key of Google", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,900}+\.eyJ[A-Za-z0-9_-]{10,900}+\.[\w-]{10}")),
)
_IN_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+]{1,20}://[^\s/:@]{1,100}:([^\s/:@]{3,100})@")
_ASSIGNED: Final = re.compile(
    r"(?i)(?:password|passwd|secret|api_?key|access_?token|auth_?token|private_?key)"
    r"[\"']?\s{0,5}[:=]\s{0,5}([\"'])([^\"'\s]{8,200})\1"
)
_PLACEHOLDER: Final = re.compile(
    r"(?i)example|placeholder|change-?me|dummy|your[_-]|xxxx|\*\*\*|\.\.\.|[<{$%]|^(?:password|secret)$"
)


class Secret(NamedTuple):
    """What something looks like, and whether nothing else looks like it."""

    kind: str
    is_certain: bool


def secret_in(text: str) -> Secret | None:
    """Return the secret that a line seems to hold; None when it seems to hold none."""
    for kind, shape in _SHAPES:
        found = shape.search(text)
        if found is not None and not _PLACEHOLDER.search(found[0]):
            return Secret(kind, is_certain=True)
    assigned = _ASSIGNED.search(text)
    if assigned is not None and not _PLACEHOLDER.search(assigned[2]):
        return Secret("a secret", is_certain=False)
    address = _IN_ADDRESS.search(text)
    if address is not None and not _PLACEHOLDER.search(address[1]):
        return Secret("a password in an address", is_certain=False)
    return None
