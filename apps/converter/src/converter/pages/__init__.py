"""The page for people who convert files: drop PDFs, follow them, fetch the XML."""

from __future__ import annotations

from converter.pages.pages import pages

__all__ = ["pages"]
