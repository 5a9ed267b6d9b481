"""Addresses of HTTP that a configuration may name."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_web_address(url: str) -> bool:
    """Whether it is plain HTTP or HTTPS; credentials, queries and fragments do not belong there."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
            and not parts.query
            and not parts.fragment
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        return False
