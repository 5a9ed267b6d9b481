"""Unified diffs: read into files and hunks, and split into smaller ones."""

from criticizer.diffs.model import FileDiff, Hunk
from criticizer.diffs.parse import parse_diff
from criticizer.diffs.split import Part, split_diff

__all__ = ["FileDiff", "Hunk", "Part", "parse_diff", "split_diff"]
