"""The certificates that servers are known by, read once for all clients of this process."""

from __future__ import annotations

import functools
import os
import ssl


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the context of every client: reading the bundle takes longer than most calls."""
    import certifi  # noqa: PLC0415 - only what calls a service needs it

    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE", certifi.where()),
        capath=os.environ.get("SSL_CERT_DIR"),
    )
