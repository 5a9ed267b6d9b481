"""A server of changes: diffs by id, by script, and in the dialects of GitHub and GitLab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tests.deployed.scripted_server import Call, Reply, ScriptedServer, json_reply

ROPE_DIFF = """\
diff --git a/rope.py b/rope.py
index 1111111..2222222 100644
--- a/rope.py
+++ b/rope.py
@@ -1,2 +1,3 @@
 knots = 1
+loops = None
 ends = 2
"""


class ChangeServer(ScriptedServer):
    """Serves `…/{id}.diff` out of `changes`, and any other path out of `paths`.

    Scripted replies come first, whatever is asked for.
    """

    def __init__(self, changes: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(answer=self._serve_change, **options)
        self.changes: dict[str, str | bytes] = dict(changes or {"cl-1": ROPE_DIFF})
        self.paths: dict[str, Reply] = {}

    def add_file(self, path: str, document: object, **options: Any) -> None:
        """Answer with a text or with JSON at a path, its query included."""
        if isinstance(document, str | bytes):
            body = document.encode() if isinstance(document, str) else document
            self.paths[path] = Reply(body=body, **options)
        else:
            self.paths[path] = json_reply(document, **options)

    def _serve_change(self, call: Call) -> Reply:
        if call.target in self.paths:
            return self.paths[call.target]
        name = unquote(call.path.rpartition("/")[2]).removesuffix(".diff")
        diff = self.changes.get(name)
        if diff is None:
            return Reply(status=404)
        return Reply(body=diff.encode() if isinstance(diff, str) else diff)
