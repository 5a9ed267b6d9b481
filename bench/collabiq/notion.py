"""The stand-in of Notion, with a note of every call and of every row that was made."""

import json
import time
from collections import deque
from collections.abc import Mapping

from collabiq.stand_ins.notion import NotionStandIn, error
from holdfast.systems import Answer, Call

CREATED = 200
TOO_MANY = 429


class WatchedNotion:
    """Answers as the stand-in does, and refuses rows whose title has one word for good."""

    faults: Mapping = {}

    def __init__(self, stand_in: NotionStandIn, *, refused_word: str | None = None) -> None:
        self._stand_in = stand_in
        self._refused_word = refused_word
        self.called_s: list[float] = []
        self.made_s: list[float] = []
        self.refused_s: list[float] = []
        self.too_many = 0

    def __call__(self, call: Call) -> Answer:
        self.called_s.append(time.monotonic())
        makes = call.method == "POST" and call.path.endswith("/v1/pages")
        if makes and self._refuses(call):
            self.refused_s.append(time.monotonic())
            return error(400, "validation_error", "body failed validation: refused on purpose.")
        answer = self._stand_in(call)
        if makes and answer.status == CREATED:
            self.made_s.append(time.monotonic())
        self.too_many += answer.status == TOO_MANY
        return answer

    def most_within(self, window_s: float) -> int:
        """The most calls in any such window."""
        window: deque[float] = deque()
        most = 0
        for at_s in sorted(self.called_s):
            window.append(at_s)
            while window[0] <= at_s - window_s:
                window.popleft()
            most = max(most, len(window))
        return most

    def _refuses(self, call: Call) -> bool:
        if self._refused_word is None:
            return False
        return self._refused_word in json.dumps(json.loads(call.body), ensure_ascii=False)
