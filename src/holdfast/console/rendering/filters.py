"""How templates show instants, ids, figures and what may hold secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from holdfast.console import words
from holdfast.console.charts import charts
from holdfast.core.dead_letter.replay import Counts
from holdfast.core.values.instant import Instant, to_datetime, to_rfc3339
from holdfast.secrecy import kept_value, private, private_value, without_names
from holdfast.views.durations import span
from holdfast.views.explain.job import remark

SHOWN_ID: Final = 13
LONGEST_SHOWN: Final = 20_000
_MILLISECOND_US: Final = 1_000
_SPELT: Final = {"http status": "HTTP status"}
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", re.ASCII)


def install(environment: Environment) -> None:
    """Give templates their filters."""
    environment.filters.update(
        ago=_ago,
        exact=exact,
        rfc3339=to_rfc3339,
        since=_since,
        short_id=short_id,
        hidden=private,
        ms=milliseconds,
        tone=words.tone,
        spoken=words.spoken,
        spoken_heading=words.heading,
        capitalize_first=words.capitalized,
        label=label,
        clock=_clock,
        plural=words.plural,
        remark=remark,
        told=told,
        swatch=charts.swatch,
        progress=progress,
        progress_words=progress_words,
    )


def exact(instant: Instant) -> str:
    """Return an instant to the millisecond, in UTC."""
    return to_datetime(instant).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def label(name: object) -> str:
    """Return the name of a fact as it stands above it."""
    spoken = words.spoken(name)
    return _SPELT.get(spoken, spoken[:1].upper() + spoken[1:])


def told(fact: object) -> object:
    """Return a fact of the audit log; an instant to the second."""
    if isinstance(fact, str) and _INSTANT.fullmatch(fact):
        return f"{fact[:10]} {fact[11:19]} UTC"
    return fact


def short_id(text: object) -> str:
    """Return the beginning of an id that tells it from its neighbours, and its end."""
    whole = str(text)
    return whole if len(whole) <= SHOWN_ID + 6 else f"{whole[:SHOWN_ID]}…{whole[-4:]}"


def milliseconds(length_ms: float | None) -> str:
    """Return a length of time; a dash for none."""
    return "—" if length_ms is None else span(int(length_ms * _MILLISECOND_US))


def shown(
    value: Any,  # noqa: ANN401 - JSON of any shape
    *,
    keeps: bool = False,
    without: Collection[str] = (),
) -> str:
    """Return JSON for people as `whole` does; what is very long is cut, and says so."""
    text = whole(value, keeps=keeps, without=without)
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}\n… {len(text) - LONGEST_SHOWN} more characters: download it"


def whole(
    value: Any,  # noqa: ANN401 - JSON of any shape
    *,
    keeps: bool = False,
    without: Collection[str] = (),
) -> str:
    """Return JSON for people, without its secrets, nor what is personal unless it `keeps` that.

    What stands under the names in `without` is left out as well.
    """
    value = without_names(value, without)
    seen = kept_value(value) if keeps else private_value(value)
    return json.dumps(seen, indent=2, ensure_ascii=False)


def parts_of(counts: Counts) -> list[charts.Part]:
    """Return the letters of a replay by what became of them."""
    return [
        charts.Part("succeeded", "good", counts.succeeded),
        charts.Part("failed again", "bad", counts.failed_again),
        charts.Part("under way", "busy", counts.under_way + counts.unsent),
        charts.Part("cancelled", "wait", counts.cancelled),
        charts.Part("skipped", "warn", counts.skipped),
        charts.Part("not sent yet", "over", counts.pending),
    ]


def progress(counts: Counts) -> Markup:
    """Return how far a replay has come, as a bar."""
    return charts.share(parts_of(counts), label=progress_words(counts))


def progress_words(counts: Counts) -> str:
    """Return how far a replay has come."""
    return ", ".join(f"{part.value} {part.name}" for part in parts_of(counts) if part.value)


@pass_context
def _ago(context: Context, instant: Instant) -> str:
    return words.ago(instant, context["now"])


@pass_context
def _clock(context: Context, instant: Instant) -> str:
    """Return the time of day to the millisecond, with the date unless it is today."""
    moment, today = to_datetime(instant), to_datetime(context["now"])
    text = moment.strftime("%H:%M:%S.%f")[:-3]
    return text if moment.date() == today.date() else f"{moment:%d %b} {text}"


@pass_context
def _since(context: Context, instant: Instant) -> str:
    return span(context["now"] - instant)
