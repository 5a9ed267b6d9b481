"""Words and phrases that join ideas, and structures beyond a plain clause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from grading.scoring.texts.listed import listed

_LINKING: Final = listed(
    "according to,above all,admittedly,after that,afterwards,although,as a consequence,"
    "as a matter of fact,as a result,as far as,as for,as long as,as soon as,as well as,at first,"
    "at last,because,because of,besides,but,by contrast,consequently,despite,due to,even if,"
    "even though,eventually,finally,first,first of all,firstly,for example,for instance,"
    "for this reason,furthermore,hence,however,in addition,in conclusion,in contrast,in fact,"
    "in general,in my opinion,in my view,in order to,in other words,in particular,in short,"
    "in spite of,in the end,in this way,instead,last but not least,likewise,meanwhile,moreover,"
    "namely,nevertheless,next,nonetheless,not only,on the contrary,on the one hand,"
    "on the other hand,on top of that,otherwise,overall,owing to,particularly,personally,provided,"
    "provided that,rather than,second,secondly,similarly,since,so,so that,such as,that is why,"
    "then,therefore,third,thirdly,though,thus,to begin with,to conclude,to sum up,ultimately,"
    "under these circumstances,unless,until,what is more,when,whereas,while,yet",
    ",",
)
LINKING: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(map(re.escape, _LINKING), key=len, reverse=True))})\b"
)
"""Finds them in words in lower case with single blanks between."""

_PARTICIPLE: Final = (
    r"(?:\w{2,}ed|\w{2,}en|\w+wn|\w+ught|\w*made|done|seen|gone|told|held|sent|paid)"
)
STRUCTURES: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "relative clause": r"\b(?:who|whom|whose|which|in which|where)\b",
        "condition": r"\b(?:if|unless|provided|should you|as long as)\b",
        "concession": r"\b(?:although|though|despite|in spite of|whereas|while|nevertheless)\b",
        "reason": r"\b(?:because|since|due to|owing to|as a result|so that)\b",
        "passive": rf"\b(?:is|are|was|were|be|been|being)\s(?:\w{{1,20}}ly\s)?{_PARTICIPLE}\b",
        "perfect": (
            r"\b(?:have|has|had|having)\s(?:\w{1,20}ly\s|not\s|never\s|already\s|always\s|just\s)?"
            rf"(?:been|become|had|come|{_PARTICIPLE})\b"
        ),
        "modal": r"\b(?:would|could|might|should|may|ought)\b",
        "gerund": r"\b(?:by|without|after|before|instead of|in|of|for|from)\s\w{2,20}ing\b",
        "clause as object": (
            r"\b(?:that|what|how|whether|why)\s(?:i|we|they|you|he|she|it|this|there|the|people)\b"
        ),
        "comparison": (
            r"\b(?:(?:more|less|fewer)\s(?:\w{1,20}\s){0,3}than|\w{2,20}er\sthan|"
            r"as\s\w{2,20}\sas)\b"
        ),
        "emphasis": (
            r"\b(?:not only|hardly|what is|what made|it is\s\w{1,20}\sthat|no longer|neither)\b"
        ),
        "participle clause": r"\b(?:having\s\w{3,20}|\w{3,20}ing\s(?:that|the|a|this))\b",
    }.items()
}
"""Kinds of structures, each with a pattern over the same."""

POSITION: Final = re.compile(
    r"\b(?:i (?:firmly |strongly |truly |personally |partly |completely |totally |also )?"
    r"(?:think|believe|agree|disagree|prefer|would say|would choose|would argue|would rather|"
    r"suggest|support|acknowledge|maintain|doubt)|in my (?:opinion|view)|from my point of view|"
    r"as i see it|to my mind|personally|"
    r"i am (?:\w{1,20} )?(?:convinced|persuaded|inclined|of the \w{1,20}|in favour|against|"
    r"agree))\b"
)
"""Finds where a writer takes a position."""
SUPPORT: Final = re.compile(
    r"\b(?:for example|for instance|such as|because|since|as a result|therefore|due to|thanks to|"
    r"which means|namely|so that|consequently|illustrates?|provided that|owing to|moreover|"
    r"i (?:saw|experienced|remember)|in my (?:town|city|class|school|country|region|own))\b"
)
"""Finds reasons and examples."""
