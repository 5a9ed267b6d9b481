"""Short texts that people and programs send: names, ids, and what stands in a filter."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from holdfast.core.values.failure import MAX_MESSAGE_LENGTH
from holdfast.engine.submit.submission import MAX_KEY_LENGTH

_PLAIN: Final = r"^[^\x00-\x1f\x7f]+$"
"""No database can look for a text with a NUL, and no line can show the other control characters."""

Plain = Annotated[str, StringConstraints(min_length=1, max_length=MAX_KEY_LENGTH, pattern=_PLAIN)]
"""A name or an id."""

Text = Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE_LENGTH)]
"""What a person writes: a reason, a note, evidence."""
