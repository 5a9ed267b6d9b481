"""The pages of grading: practise, review, operate."""

from __future__ import annotations

from grading.pages.pages import DEVICES, pages

__all__ = ["DEVICES", "pages"]
