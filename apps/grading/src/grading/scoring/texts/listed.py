"""Lists of words, written as they are read."""

from __future__ import annotations


def listed(text: str, separator: str | None = None) -> list[str]:
    """Return the words between blanks, or the phrases between separators."""
    return text.split(separator)
