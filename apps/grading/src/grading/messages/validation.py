"""What is wrong with a message, without anything of what it holds."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

MAX_FLAWS: Final = 5
MAX_CHARACTERS: Final = 400


def flaws_of(error: ValidationError) -> str:
    """Return where a message does not fit and why; values are left out."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'/'.join(str(part) for part in flaw['loc']) or 'message'}: {flaw['msg']}"
        for flaw in found[:MAX_FLAWS]
    ]
    more = len(found) - MAX_FLAWS
    text = "; ".join(lines) + (f"; and {more} more" if more > 0 else "")
    return text[:MAX_CHARACTERS]
