"""A result as a terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grading.cli.output import line, safe
from grading.result import MAX_SCORE

_BAR_CELLS: Final = 20
_FEEDBACK: Final = {
    "strengths": "strength",
    "weaknesses": "weakness",
    "suggestions": "suggestion",
}


def print_result(result: Mapping[str, Any]) -> None:
    """Print scores as bars, then the reasons for them."""
    band = result.get("band") or "below B1"
    line(f"{result['overallScore']:.1f} of {MAX_SCORE:g}, {band}", style="bold")
    bars = Table.grid(padding=(0, 2))
    for criterion, score in result["criteriaScores"].items():
        full = round(score / MAX_SCORE * _BAR_CELLS)
        bar = Text("█" * full, style="cyan") + Text("░" * (_BAR_CELLS - full), style="dim")
        basis = result.get("basis", {}).get(criterion)
        note = Text("" if basis is None else f"({safe(basis)})", style="dim")
        bars.add_row(Text(safe(criterion)), bar, Text(f"{score:.1f}"), note)
    Console().print(bars)
    if result.get("caps"):
        line(f"capped: {', '.join(result['caps'])}", style="yellow")
    if result.get("reviewComment"):
        line(f"  {'teacher':<10}  {result['reviewComment']}")
    for heading, label in _FEEDBACK.items():
        for text in result.get("feedback", {}).get(heading, []):
            line(f"  {label:<10}  {text}")
    if result.get("transcript"):
        line(f"  transcript  {result['transcript']}")
    by = {
        "hybrid": f"{result['grader']} and a teacher",
        "human": "a teacher",
    }.get(result.get("gradingMode", "auto"))
    sure = f"{result['grader']}, confidence {result['confidenceScore']}"
    line(f"graded by {by or sure}, {result.get('wordCount', 0)} words", style="dim")
