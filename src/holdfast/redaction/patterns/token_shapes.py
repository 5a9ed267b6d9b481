"""The shapes of providers' tokens: a prefix of their own, then characters made by chance.

The prefix and a minimum of characters are enough; a token is taken to its end, however long. The
patterns are left to be compiled on first use: that takes a while.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from holdfast.redaction.patterns.alternation import any_of, words

_PLAIN: Final = "A-Za-z0-9"
_LOOSE: Final = r"A-Za-z0-9_\-"
_SNAKE: Final = "A-Za-z0-9_"
_DOTTED: Final = r"A-Za-z0-9_.=\-"
_DASHED: Final = r"A-Za-z0-9.\-"
_HEX: Final = "0-9a-fA-F"
_UPPER: Final = "A-Z0-9"


class Shape(NamedTuple):
    """`prefix`, then at least `length` characters of `alphabet`.

    `starts_word` for prefixes with which ordinary words end.
    """

    prefix: str
    alphabet: str
    length: int
    starts_word: bool = False


def _shapes(prefixes: str, alphabet: str, length: int, *, starts_word: bool = False) -> list[Shape]:
    return [Shape(prefix, alphabet, length, starts_word) for prefix in words(prefixes)]


_CLOUDS: Final = (
    *_shapes("AKIA ASIA ABIA ACCA", _UPPER, 16),
    *_shapes("A3T", _UPPER, 17, starts_word=True),
    *_shapes("4b1d", _PLAIN, 38, starts_word=True),
    *_shapes("AIza GOCSPX-", _LOOSE, 20),
    *_shapes("ya29.", _DOTTED, 20),
    *_shapes("LTAI AKID AQVN YCAJ YCM", _LOOSE, 20, starts_word=True),
    *_shapes("dapi dop_v1_ doo_v1_ dor_v1_ sbp_ pul-", _HEX, 32),
    *_shapes("HRKU- fo1_ sb_secret_", _LOOSE, 20),
    *_shapes("nfp_ rnd_ napi_ vcp_ vck_ vca_ mdb_sa_sk_ nvapi-", _PLAIN, 20),
    *_shapes("pscale_tkn_ pscale_pw_ pscale_oauth_", _DOTTED, 24),
    *_shapes("v1.0-", r"0-9a-f\-", 100, starts_word=True),
)
_CODE: Final = (
    *_shapes("ghp_ gho_ ghu_ ghs_ ghr_", _PLAIN, 20),
    *_shapes("github_pat_", _SNAKE, 22),
    *_shapes(
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas-", _DOTTED, 20
    ),
    *_shapes("GR1348941 pypi-AgE", _LOOSE, 20),
    *_shapes("npm_ CLOJARS_ AKCp cmVmd", _PLAIN, 30),
    *_shapes("s-s4t2ud- s-s4t2af-", _HEX, 40),
    *_shapes("rubygems_ sgp_", _SNAKE, 32),
    *_shapes("dckr_pat_ dckr_oat_", _LOOSE, 20),
    *_shapes("cio oy2 ico- p8e-", _PLAIN, 32, starts_word=True),
    *_shapes("ATATT3 ATCTT3 BBDC-", _DOTTED, 24),
    *_shapes("ATBB squ_ sqp_ sqa_ pnu_", _PLAIN, 24),
    *_shapes("PMAK- tskey- HCP-", _LOOSE, 20),
    *_shapes("API-", _UPPER, 26, starts_word=True),
    *_shapes("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _DOTTED, 24),
    *_shapes("hvs. hvb. hvr.", _LOOSE, 24),
    *_shapes("s. st.", _PLAIN, 24, starts_word=True),
    *_shapes("AGE-SECRET-KEY-1", _UPPER, 30),
)
_PEOPLE: Final = (
    *_shapes("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox xapp-", _DASHED, 10),
    *_shapes("xkeysib- xsmtpsib-", _LOOSE, 30),
    *_shapes("key- SK", _HEX, 32, starts_word=True),
    *_shapes("re_", _SNAKE, 24, starts_word=True),
    *_shapes("sl.", _LOOSE, 60, starts_word=True),
    *_shapes("EAA IGQ", _PLAIN, 40, starts_word=True),
    *_shapes("lin_api_ lin_oauth_ ntn_ tfp_ secret_", _PLAIN, 24),
    *_shapes("figd_ figu_ CFPAT-", _LOOSE, 24),
    *_shapes("pat-na1- pat-na2- pat-eu1- pat-ap1-", r"0-9a-f\-", 30),
)
_MONEY: Final = (
    *_shapes("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", _PLAIN, 10),
    *_shapes("sq0atp- sq0csp- sq0idp-", _LOOSE, 20),
    *_shapes("EAAA", _LOOSE, 22, starts_word=True),
    *_shapes("access-sandbox- access-development- access-production-", r"0-9a-f\-", 30),
    *_shapes("FLWSECK_TEST- FLWSECK- rzp_live_ rzp_test_", _LOOSE, 12),
    *_shapes("shippo_live_ shippo_test_ duffel_live_ duffel_test_", _DOTTED, 30),
    *_shapes("EZAK EZTK", _PLAIN, 40),
    *_shapes("shpat_ shpca_ shppa_ shpss_ shptka_ shpua_", _HEX, 24),
)
_MODELS: Final = (
    *_shapes("sk-proj- sk-svcacct- sk-admin- sk-service- sk-ant- sk-or- sk-None-", _LOOSE, 20),
    *_shapes("sk-", _PLAIN, 20, starts_word=True),
    *_shapes("sk_", _HEX, 40, starts_word=True),
    *_shapes("r8_ fw_ pplx- gsk_ xai- csk- fc-", _PLAIN, 22),
    *_shapes("tgp_v1_ pcsk_ tvly- lsv2_pt_ lsv2_sk_", _LOOSE, 24),
)
_WATCHING: Final = (
    *_shapes("glsa_ sntryu_", _SNAKE, 32),
    *_shapes("NRAK- NRJS- NRII- NRAL-", _LOOSE, 16),
    *_shapes("dt0c01. dt0s16.", _DOTTED, 40),
    *_shapes("rdme_ dnkey- fio-u- tk-us-", _DOTTED, 40),
    *_shapes("sm_aat_ sm_pat_ sm_sat_ phc_ phx_", _PLAIN, 16),
)


_ALL: Final = (*_CLOUDS, *_CODE, *_PEOPLE, *_MONEY, *_MODELS, *_WATCHING)
_MARK: Final = re.compile(r"([_.\-])")
# Five letters and digits on end, soon: text full of marks is passed over.
_STRETCH_AHEAD: Final = r"(?=(?:[A-Za-z0-9]{0,4}+[_\-.=]){0,5}+[A-Za-z0-9]{5})"
_REST: Final = rf"[{_LOOSE}]*+"

# A token of any other provider whose prefix says what it is.
_NAMES_ITSELF: Final = (
    r"(?=[A-Za-z0-9]{20})(?=[A-Za-z]{0,40}[0-9])"
    r"(?:(?<=live.)|(?<=secret.)|(?<=sk.)|(?<=pat.)|(?<=tkn.)|(?<=token.)|(?<=apikey.))"
    r"[A-Za-z0-9]{20,}+"
)


def _has_mark(shape: Shape) -> bool:
    return bool(_MARK.search(shape.prefix))


def _body(shape: Shape) -> str:
    # Small letters alone are words, not chance; after some prefixes a digit is needed to tell.
    words = "a-z_.=\\-" if not shape.starts_word else shape.alphabet.replace("0-9", "")
    chance = "A-Z0-9" if not shape.starts_word else "0-9"
    near = min(shape.length, 24)
    return rf"(?=[{words}]{{0,{near}}}[{chance}])[{shape.alphabet}]{{{shape.length},}}+"


def _start(shape: Shape, *, end: int | None = None) -> str:
    """What must be true before the prefix, or before its first `end` characters.

    It is the start of the text or follows a mark, an escape or a colour code.
    """
    if not shape.starts_word:
        return ""
    prefix = re.escape(shape.prefix[:end])
    return (
        rf"(?:(?<![A-Za-z0-9_\-]{prefix})|(?<=\\[nrt]{prefix})"
        rf"|(?<=%[0-9A-F][0-9A-F]{prefix})|(?<=\[[0-9]m{prefix}))"
    )


def _broken(shapes: Iterable[Shape]) -> str:
    """Found by the first mark in their prefix: marks are rarer than letters.

    First the mark, then what must stand before it, last letter first, then the rest.
    """
    by_mark: defaultdict[str, defaultdict[str, defaultdict[str, list[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for shape in shapes:
        head, mark, rest = _MARK.split(shape.prefix, maxsplit=1)
        body = _start(shape, end=len(head) + 1) + re.escape(rest) + _body(shape)
        by_mark[mark][head[-1]][head].append(body)
    by_mark["."]["G"]["SG"].append(r"(?=[a-z_.=\-]{0,24}[A-Z0-9])[A-Za-z0-9_.=\-]{40,}+")
    for head in ("pat", "sat"):
        by_mark["."]["t"][head].append(r"[A-Za-z0-9_\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}")
    return "|".join(
        rf"{re.escape(mark)}(?<=[{''.join(sorted({*lasts, *'ektny'}))}].){_STRETCH_AHEAD}"
        rf"(?:{_by_last_letter(mark, lasts)}|{_NAMES_ITSELF if mark != '.' else '(?!)'})"
        for mark, lasts in by_mark.items()
    )


def _by_last_letter(mark: str, lasts: Mapping[str, Mapping[str, list[str]]]) -> str:
    mark = re.escape(mark)
    return "|".join(
        f"(?<={last}{mark})(?:"
        + "|".join(f"(?<={head}{mark})(?:{'|'.join(bodies)})" for head, bodies in heads.items())
        + ")"
        for last, heads in lasts.items()
    )


def _web_token(start: str) -> str:
    """Two to five parts, the first of which is a JSON object in base64 that begins with `start`."""
    begins = rf"(?:(?<![A-Za-z0-9_\-]{start})|(?<=\\[nrt]{start}))"
    return begins + r"[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{4,}+(?:\.[A-Za-z0-9_\-]*+){0,3}=?"


# Prefixes before characters that other tokens do not have.
_OF_THEIR_OWN: Final = (
    *((start, _web_token(start)) for start in ("eyJ", "eyA", "ewog", "ewoJ", "ew0K")),
    ("eyJrIjoi", r"[A-Za-z0-9+/_\-]{40,}+={0,2}"),
    ("A3-", r"(?<![A-Za-z0-9]A3-)[A-Z0-9]{6}-[A-Z0-9\-]{20,}+"),
    ("pat", r"(?<![A-Za-z0-9]pat)[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("1//0", r"[A-Za-z0-9_\-]{30,}+"),
    ("sha256~", r"[A-Za-z0-9_\-]{40,}+"),
    ("access_token$", r"[A-Za-z0-9$]{20,}+"),
    ("ABSK", r"[A-Za-z0-9+/=]{60,}+"),
    ("hf_", r"(?<![A-Za-z0-9_]hf_)[A-Za-z0-9]{30,}+"),
    ("api_org_", r"[A-Za-z0-9]{30,}+"),
    *((prefix, r"[A-Za-z0-9+/=,_]{40,}+") for prefix in ("fm1a_", "fm1r_", "fm2_")),
    ("ops_eyJ", r"[A-Za-z0-9+/=_\-]{60,}+"),
    ("bedrock-api-key-", r"[A-Za-z0-9+/=_\-]{20,}+"),
    ("glc_", r"[A-Za-z0-9+/=]{32,}+"),
    ("sntrys_", r"[A-Za-z0-9+/=_\-]{40,}+"),
    ("whsec_", r"[A-Za-z0-9+/=_\-]{20,}+"),
)
# Recognised by their three parts.
_IN_PARTS: Final = tuple(
    (
        letter,
        r"(?<![A-Za-z0-9_\-].)[A-Za-z0-9_\-]{22,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}+",
    )
    for letter in "MNO"
)
UNBROKEN: Final = (
    any_of(
        (
            *(
                (shape.prefix, _start(shape) + _body(shape))
                for shape in _ALL
                if not _has_mark(shape)
            ),
            *_IN_PARTS,
            *_OF_THEIR_OWN,
        )
    )
    + _REST
)
"""Tokens whose prefix is letters and digits only."""

BROKEN: Final = f"(?:{_broken(shape for shape in _ALL if _has_mark(shape))}){_REST}"
"""Tokens whose prefix has a mark in it; the match begins with that mark."""


WITH_HINT: Final = (
    # By which a stage of ours may be answered: a list that begins with an id, and a signature.
    ("WyIw", r"WyIw[A-Za-z0-9_\-]{40,600}+\.[A-Za-z0-9_\-]{43,}+"),
    # Hashes of passwords.
    ("$", r"\$(?:2[abxy]|5|6|y|7|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./$=,+\-]{20,}+"),
    ("pbkdf2_", r"pbkdf2_sha(?:1|256|512)\$[A-Za-z0-9./$=+\-]{20,}+"),
    (
        "hooks.slack.com/",
        r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}+",
    ),
    ("/api/webhooks/", r"(?<=/api/webhooks/)[0-9]{5,25}/[A-Za-z0-9_\-]{20,}+"),
    ("/webhookb2/", r"(?<=/webhookb2/)[A-Za-z0-9@/\-]{40,}+"),
    (
        "Private-Lines:",
        r"(?<=Private-Lines:)[ \t]{0,8}[0-9]{1,4}\s{1,8}[A-Za-z0-9+/=\s]{16,}+",
    ),
)
"""Shapes that are rare: text that must occur, then the pattern."""

WITH_HINT_INSIDE: Final = (
    (":A", r":A(?<=[0-9]{8}:A)[A-Za-z0-9_\-]{30,}+"),
    ("Q~", r"Q~(?<=[A-Za-z0-9_~.]{3}[0-9]Q~)[A-Za-z0-9_~.\-]{31,}+"),
    (".atlasv1.", r"\.atlasv1\.(?<=[A-Za-z0-9]{14}\.atlasv1\.)[A-Za-z0-9_=\-]{40,}+"),
    (".acc", r"\.acc[_\-][a-z0-9\-]{10,32}\.[A-Za-z0-9+/_=\-]{30,}+"),
    ("|", r"\|(?<=[0-9]{15}\|)[A-Za-z0-9_\-]{27,}+"),
    ("_mmk", r"_mmk(?<=[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![A-Za-z0-9])"),
    ("-us", r"-us[0-9]{1,2}(?:(?<=[0-9a-f]{32}-us[0-9])|(?<=[0-9a-f]{32}-us[0-9]{2}))(?!\w)"),
)
"""Likewise, of shapes that begin before the text that must occur."""
