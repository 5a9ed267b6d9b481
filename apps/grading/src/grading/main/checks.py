"""Checks what a learner hands in, and says everything that is wrong with it at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from grading.audio import AudioUnavailable, check_url
from grading.main.recordings import Recordings
from grading.messages.contract import MAX_TEXT_CHARACTERS
from grading.questions import Question, Questions
from grading.refusals import AudioRefused, Flaw, NotYours, ValidationRefused
from grading.states import Skill

if TYPE_CHECKING:
    from grading.main.submissions import Wanted

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_URL_CHARACTERS: Final = 1_500


class Checked(NamedTuple):
    """An answer that fits its question, as it is stored."""

    question: Question
    answer: dict[str, Any]


def check(
    wanted: Wanted,
    *,
    owner: str,
    questions: Questions,
    recordings: Recordings,
    audio_hosts: tuple[str, ...],
    max_seconds: float,
) -> Checked:
    """Return the answer as it is stored, or raise a `Refused`."""
    flaws: list[Flaw] = []
    skill = wanted.skill if wanted.skill in set(Skill) else None
    if skill is None:
        flaws.append(Flaw("/skill", f"must be one of {', '.join(Skill)}"))
    question = questions.get(wanted.question_id)
    if question is None:
        flaws.append(Flaw("/questionId", "there is no such question"))
    elif skill is not None and question.skill != skill:
        flaws.append(Flaw("/questionId", f"is a question for {question.skill.value}"))
    if skill == Skill.WRITING:
        flaws.extend(_text_flaws(wanted.text))
    elif skill == Skill.SPEAKING:
        flaws.extend(_audio_flaws(wanted, max_seconds))
    if flaws or question is None:
        raise ValidationRefused(flaws)
    if question.skill is Skill.WRITING:
        return Checked(question, {"text": wanted.text})
    return Checked(question, _recorded(wanted, owner, recordings, audio_hosts))


def _text_flaws(text: str | None) -> list[Flaw]:
    place = "/answer/text"
    if text is None:
        return [Flaw(place, "is missing")]
    if not text.strip():
        return [Flaw(place, "is empty")]
    if len(text) > MAX_TEXT_CHARACTERS:
        return [Flaw(place, f"has {len(text)} characters; {MAX_TEXT_CHARACTERS} are the limit")]
    if "\x00" in text:
        return [Flaw(place, "holds a NUL character")]
    if any("\ud800" <= character <= "\udfff" for character in text):
        return [Flaw(place, "holds half of a character")]
    return []


def _audio_flaws(wanted: Wanted, max_seconds: float) -> list[Flaw]:
    flaws: list[Flaw] = []
    url, seconds = wanted.audio_url, wanted.duration_s
    if not url:
        flaws.append(Flaw("/answer/audioUrl", "is missing"))
    elif len(url) > _MAX_URL_CHARACTERS or not url.isprintable():
        flaws.append(Flaw("/answer/audioUrl", "is not an address"))
    if seconds is None or not 0 < seconds <= max_seconds:
        flaws.append(Flaw("/answer/durationSeconds", f"must be over 0, {max_seconds:g} at most"))
    if wanted.audio_sha256 is not None and not _SHA256.fullmatch(wanted.audio_sha256):
        flaws.append(Flaw("/answer/audioSha256", "must be 64 hexadecimal digits"))
    return flaws


def _recorded(
    wanted: Wanted, owner: str, recordings: Recordings, audio_hosts: tuple[str, ...]
) -> dict[str, Any]:
    url = wanted.audio_url or ""
    audio_id = recordings.id_in(url)
    if audio_id is not None:
        try:
            found = recordings.find(audio_id, owner=owner)
        except NotYours as error:
            raise AudioRefused("there is no such recording of yours; send it first") from error
        return {
            "audioUrl": recordings.url_of(audio_id),
            "durationSeconds": found.seconds or wanted.duration_s,
            "audioId": audio_id,
            "audioSha256": found.sha256,
        }
    try:
        check_url(url, own=recordings.own, hosts=audio_hosts)
    except AudioUnavailable as error:
        raise AudioRefused(
            "recordings are taken from this server and from listed hosts only"
        ) from error
    if wanted.audio_sha256 is None:
        raise AudioRefused("a recording elsewhere needs its audioSha256")
    return {
        "audioUrl": url,
        "durationSeconds": wanted.duration_s,
        "audioSha256": wanted.audio_sha256,
    }
