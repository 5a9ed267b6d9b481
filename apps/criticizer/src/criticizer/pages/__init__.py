"""The page for people whose changes are reviewed: what was said, of which lines, and who knows."""
