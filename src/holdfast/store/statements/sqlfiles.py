"""Named statements: one statement, one file, the same names for both databases."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources


class SqlFiles:
    """The statements of one dialect; `files["claim"]` is the text of `sql/claim.sql`.

    A fragment such as a column list is written once and named in the files as `@name@`.
    """

    def __init__(self, package: str, fragments: Mapping[str, str] | None = None) -> None:
        self._texts: dict[str, str] = {}
        for item in (resources.files(package) / "sql").iterdir():
            if not item.name.endswith(".sql"):
                continue
            text = item.read_text(encoding="utf-8")
            for name, fragment in (fragments or {}).items():
                text = text.replace(f"@{name}@", fragment)
            self._texts[item.name.removesuffix(".sql")] = text

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def names(self) -> list[str]:
        """Return the names of all statements, sorted."""
        return sorted(self._texts)
