"""Names of what is kept: made by the server, so that nothing a user typed is part of a path."""

from __future__ import annotations

import re
from typing import Final
from uuid import uuid4

from converter.storage.errors import BadName

PDF: Final = ".pdf"
XML: Final = ".xml"

# No dot but the one before the kind: neither a hidden file nor a way up can be named.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}\.(?:pdf|xml)", re.ASCII)


def new_name(kind: str) -> str:
    """Return a name that nobody has and nobody can guess."""
    return checked_name(f"{uuid4().hex}{kind}", label="new name")


def checked_name(name: str, *, label: str) -> str:
    """Return the name, or raise `BadName` for one that the server does not make."""
    if not _NAME.fullmatch(name):
        raise BadName(
            label,
            "a name must be 1 to 100 of a-z, 0-9, '_' and '-', then .pdf or .xml; "
            "it is made by the server and never taken from a user",
        )
    return name
