"""Large changes: in parts, each of which is paid for once."""

import pytest

from apps.criticizer.tests.llm_server import INPUT_TOKENS, Answer, critique, finding, prompt_of
from criticizer.reviewers.errors import MalformedAnswer, Refused
from criticizer.reviewers.model import Limits
from criticizer.reviewers.paid import MAX_REVIEWS
from criticizer.reviewers.rules import REVIEWER_RULES
from criticizer.sources.errors import ChangeTooLarge
from holdfast.classify import classify

SMALL = Limits(max_part_bytes=5_000, max_parts=3)


def diff_of(names):
    return "".join(
        f"--- a/{name}.py\n+++ b/{name}.py\n@@ -1 +1,60 @@\n end\n"
        + "".join(f"+{name} = {number:060}\n" for number in range(59))
        for name in names
    )


def named_in(prompt, names):
    return next(name for name in names if f"+++ b/{name}.py" in prompt)


@pytest.fixture
def small(made_reviewer):
    return made_reviewer(limits=SMALL)


@pytest.fixture
def answering(llm):
    """A model that finds something in each file, and something that is in another part."""

    def decide(call):
        name = named_in(prompt_of(call), "abc")
        found = [finding(f"{name}.py", 3), finding(f"{name}.py", 2), finding("a.py", 5)]
        return Answer(text=critique(*found, summary=f"Of {name}."))

    llm.decide = decide
    return llm


def test_parts_are_asked_for_one_by_one_and_become_one_critique(small, reviewed, answering):
    result = reviewed(small, diff_of("abc"))

    assert [(found.file, found.line) for found in result.critique.findings] == [
        ("a.py", 2),
        ("a.py", 3),
        ("a.py", 5),
        ("b.py", 2),
        ("b.py", 3),
        ("c.py", 2),
        ("c.py", 3),
    ]
    assert result.critique.summary == (
        "Part 1 of 3: Of a.\n\nPart 2 of 3: Of b.\n\nPart 3 of 3: Of c."
    )
    assert (result.usage.calls, result.usage.input_tokens) == (3, 3 * INPUT_TOKENS)
    assert all(len(prompt) < SMALL.max_part_bytes + 4_000 for prompt in answering.prompts)


def test_a_part_that_was_answered_is_not_paid_again(small, reviewed, answering):
    answering.say(Answer(text=critique(summary="Of a.")), Answer(status=503))
    with pytest.raises(Exception, match="503"):
        reviewed(small, diff_of("abc"))
    result = reviewed(small, diff_of("abc"))

    asked = [named_in(prompt, "abc") for prompt in answering.prompts]
    assert asked == ["a", "b", "b", "c"]
    assert result.critique.summary.startswith("Part 1 of 3: Of a.")
    assert (result.usage.calls, result.usage.input_tokens) == (3, 3 * INPUT_TOKENS)


def test_an_answer_of_no_use_is_paid_all_the_same(small, reviewed, answering):
    answering.say(Answer(text="nonsense"))
    with pytest.raises(MalformedAnswer):
        reviewed(small, diff_of("ab"))
    result = reviewed(small, diff_of("ab"), repair=True)

    assert (result.usage.calls, result.usage.input_tokens) == (3, 3 * INPUT_TOKENS)


def test_another_review_of_the_same_change_is_paid_for_itself(small, reviewed, answering):
    reviewed(small, diff_of("a"), token="one")
    result = reviewed(small, diff_of("a"), token="two")

    assert len(answering.calls) == 2
    assert result.usage.calls == 1


def test_answers_are_not_kept_without_end(small, reviewed, answering):
    reviewed(small, diff_of("a"), token="first")
    for number in range(MAX_REVIEWS):
        reviewed(small, "", token=f"empty {number}")
        small._paid.total(f"other {number}")
    reviewed(small, diff_of("a"), token="first")

    assert len(answering.calls) == 2
    assert len(small._paid._bills) <= MAX_REVIEWS


def test_a_change_of_too_many_parts_is_refused_before_anything_is_paid(small, reviewed, llm):
    with pytest.raises(ChangeTooLarge) as raised:
        reviewed(small, diff_of("abcd"))

    failure = classify(raised.value, rules=REVIEWER_RULES, now=0)
    assert (failure.error_class, failure.retryable) == ("CHANGE_TOO_LARGE", False)
    assert llm.calls == []


def test_a_refusal_of_one_part_is_a_refusal(small, reviewed, answering):
    answering.say(Answer(), Answer(text=None, refusal="no"))

    with pytest.raises(Refused):
        reviewed(small, diff_of("abc"))


def test_the_time_is_for_all_parts_together(small, reviewed, answering):
    reviewed(small, diff_of("a"), token="warm")
    answering.say(Answer(delay_s=0.2), Answer(delay_s=30))
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of either SDK
        reviewed(small, diff_of("abc"), timeout_s=2.0)

    assert classify(raised.value, rules=REVIEWER_RULES, now=0).error_class == "NETWORK_TIMEOUT"
    assert len(answering.calls) <= 3
