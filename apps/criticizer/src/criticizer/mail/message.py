"""The mail of a review, as text and as HTML; the same review gives the same mail, every time."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from criticizer.critique import Critique, Finding
from criticizer.payload import Review

MAX_SHOWN: Final = 100
"""Findings in one mail; the rest is counted, and is where the review is."""
_MARKS: Final = {"error": "✖", "warning": "▲", "info": "•"}
_COLOURS: Final = {"error": "#b3261e", "warning": "#8a5a00", "info": "#3b5bdb"}
_CSS: Final = (
    "font-family:system-ui,sans-serif;font-size:15px;line-height:1.5;color:#1b1b1f;max-width:42em"
)


def message_of(
    review: Review,
    *,
    critique: Critique,
    title: str,
    url: str | None,
    reviewer: str,
    sender: str,
) -> dict[str, Any]:
    """Return the message for a provider of mail, but for the recipient."""
    about = _one_line(title) or review.changelist_id
    return {
        "from": sender,
        "subject": _one_line(f"Review of {about} ({_counted(critique)})"),
        "text": _text(review, critique, about=about, url=url, reviewer=reviewer),
        "html": _html(review, critique, about=about, url=url, reviewer=reviewer),
    }


def _text(review: Review, critique: Critique, *, about: str, url: str | None, reviewer: str) -> str:
    lines = [about, *_facts(review)]
    if url:
        lines.append(url)
    lines += ["", critique.summary, ""]
    for finding in critique.findings[:MAX_SHOWN]:
        lines.append(f"{_MARKS[finding.severity]} {_place(finding)}: {finding.message}")
        if finding.suggestion:
            lines += [f"    {line}" for line in finding.suggestion.splitlines()]
    lines += [*_rest(critique), "", f"Reviewed by {reviewer}."]
    return "\n".join(lines)


def _html(review: Review, critique: Critique, *, about: str, url: str | None, reviewer: str) -> str:
    name = escape(about)
    heading = name if url is None else _linked(url, name)
    items = "".join(_item(finding) for finding in critique.findings[:MAX_SHOWN])
    listed = f'<ul style="padding-left:0;list-style:none">{items}</ul>' if items else ""
    rest = "".join(f"<p>{escape(line)}</p>" for line in _rest(critique))
    facts = "<br>".join(escape(line) for line in _facts(review))
    return (
        f'<!doctype html><html><body style="{_CSS}">'
        f'<h1 style="font-size:20px">{heading}</h1><p style="color:#5f5f68">{facts}</p>'
        f"<p>{_broken(critique.summary)}</p>{listed}{rest}"
        f'<p style="color:#5f5f68">Reviewed by {escape(reviewer)}.</p></body></html>'
    )


def _facts(review: Review) -> list[str]:
    """Return what was reviewed: the change as it was asked for, its commits and where they are."""
    called = _one_line(review.named or review.changelist_id)
    lines = [f"Change {called}, version {review.review_version}"]
    if review.repository:
        lines.append(f"Repository {_one_line(review.repository)}")
    if review.commits:
        word = "Commit" if len(review.commits) == 1 else "Commits"
        lines.append(f"{word} {' to '.join(review.commits)}")
    return lines


def _item(finding: Finding) -> str:
    colour, mark = _COLOURS[finding.severity], _MARKS[finding.severity]
    suggestion = (
        '<pre style="background:#f4f4f7;padding:8px;white-space:pre-wrap">'
        f"{escape(finding.suggestion)}</pre>"
        if finding.suggestion
        else ""
    )
    return (
        f'<li style="margin:12px 0"><span style="color:{colour}">{mark} {finding.severity}</span> '
        f"<code>{escape(_place(finding))}</code><br>{_broken(finding.message)}{suggestion}</li>"
    )


def _place(finding: Finding) -> str:
    return finding.file if finding.line is None else f"{finding.file}:{finding.line}"


def _counted(critique: Critique) -> str:
    count = len(critique.findings)
    if not count:
        return "no findings"
    return "1 finding" if count == 1 else f"{count} findings"


def _rest(critique: Critique) -> list[str]:
    more = len(critique.findings) - MAX_SHOWN
    return [f"… and {more} more."] if more > 0 else []


def _broken(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _linked(url: str, name: str) -> str:
    """A link, unless the address is none of the web: those may run scripts."""
    if not url.startswith(("https://", "http://")):
        return name
    return f'<a href="{escape(url, quote=True)}">{name}</a>'


def _one_line(text: str) -> str:
    """Titles and subjects are one line of what can be printed, whatever a change is called."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(plain.split())[:200]
