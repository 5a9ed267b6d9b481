"""What secrets look like."""

from __future__ import annotations

import re
from typing import Final

_SHAPES: Final = (
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----")),
    ("an access key of AWS", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a token of GitHub", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,255})\b")),
    ("a token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,100}\b")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,250}")),
    ("an API key", re.compile(r"\b(?:sk|rk)[-_](?:live_|test_|ant-|proj-)?[A-Za-z0-9_-]{20,250}")),
    ("an API key of Google", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[\w-]{10}")),
    (
        "a password in an address",
        re.compile(r"\b[a-z][a-z0-9+]{1,20}://[^\s/:@]{1,100}:[^\s/:@]{3,100}@"),
    ),
)
_ASSIGNED: Final = re.compile(
    r"(?i)(?:password|passwd|secret|api_?key|access_?token|auth_?token|private_?key)"
    r"[\"']?\s{0,5}[:=]\s{0,5}([\"'])([^\"'\s]{8,200})\1"
)
_PLACEHOLDER: Final = re.compile(
    r"(?i).*(?:example|placeholder|changeme|change-me|dummy|your[_-]|xxxx|\*\*\*|\.\.\.|[<{$%]).*"
)


def secret_in(text: str) -> str | None:
    """Return what kind of secret a line seems to hold; None when it seems to hold none."""
    for kind, shape in _SHAPES:
        found = shape.search(text)
        if found is not None and _PLACEHOLDER.fullmatch(found[0]) is None:
            return kind
    assigned = _ASSIGNED.search(text)
    if assigned is not None and _PLACEHOLDER.fullmatch(assigned[2]) is None:
        return "a secret"
    return None
