"""The links between pages, and that every page can be found."""

from __future__ import annotations

from pathlib import Path

from tests.docs.markdown import ROOT, anchors, documents, links, name_of


def leads_somewhere(path: Path, target: str) -> bool:
    if target.startswith(("https://", "http://", "mailto:")):
        return True
    file, _, anchor = target.partition("#")
    found = (path.parent / file).resolve() if file else path
    return found.exists() and (not anchor or anchor in anchors(found))


def test_every_link_on_a_page_leads_somewhere():
    broken = [
        f"{name_of(path)}: {target}"
        for path in documents()
        for target in links(path)
        if not leads_somewhere(path, target)
    ]

    assert broken == []


def test_every_page_is_reached_from_the_readme():
    reached = {ROOT / "README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        for target in links(page):
            found = (page.parent / target.partition("#")[0]).resolve()
            if found.suffix == ".md" and found.exists() and found not in reached:
                reached.add(found)
                waiting.append(found)

    unreached = [name_of(path) for path in documents() if path not in reached]
    assert unreached == []
