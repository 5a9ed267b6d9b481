"""Questions that instructors have added to the packaged ones."""

from __future__ import annotations

import json
from collections.abc import Iterable

from grading.questions import Question, Questions, packaged
from grading.refusals import Conflict
from grading.tables.times import to_us
from holdfast import Holdfast


class AddedQuestions:
    """Keeps further questions in the database."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def registry(self) -> Questions:
        """Return all questions: the packaged ones, and those that are added at any time."""
        return packaged(more=self.read)

    def read(self) -> Iterable[Question]:
        """Return the questions that were added."""
        with self._app.reading() as db:
            rows = db.rows("select document from grading.question order by id")
        return [Question.from_document(json.loads(row["document"])) for row in rows]

    def add(self, question: Question, *, by: str) -> None:
        """Add a question; `Conflict` where its id is taken."""
        if packaged().get(question.id) is not None:
            raise Conflict(f"{question.id} is a packaged question")
        with self._app.transaction() as tx:
            added = tx.execute(
                "insert into grading.question (id, skill, document, created_by, created_at_us)"
                " values (:id, :skill, :document, :by, :now_us) on conflict (id) do nothing",
                {
                    "id": question.id,
                    "skill": question.skill.value,
                    "document": json.dumps(question.to_document()),
                    "by": by,
                    "now_us": to_us(tx.now),
                },
            )
        if not added:
            raise Conflict(f"there is a question {question.id} already")
