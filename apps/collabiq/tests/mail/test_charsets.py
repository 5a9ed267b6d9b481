import pytest

from collabiq.mail.charsets import decoded
from collabiq.mail.headers import words

KOREAN = "소리담과 서하백화점의 협업 회의를 진행합니다"


@pytest.mark.parametrize(
    ("codec", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8", '"utf8"'),
        ("utf-8", None),
        ("utf-8", "us-ascii"),
        ("utf-8", "iso-8859-1"),
        ("utf-8", "euc-kr"),
        ("utf-8-sig", "cp949"),
        ("utf-16", None),
        ("cp949", "euc-kr"),
        ("cp949", "ks_c_5601-1987"),
        ("cp949", "utf-8"),
        ("cp949", "iso-8859-1"),
        ("cp949", None),
        ("cp949", "no-such-charset"),
        ("cp949", "hex"),
        ("iso2022_kr", "iso-2022-kr"),
        ("iso2022_kr", None),
        ("iso2022_kr", "us-ascii"),
    ],
)
def test_korean_is_read_whatever_is_declared(codec, declared):
    assert decoded(KOREAN.encode(codec), declared=declared) == KOREAN


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252"])
def test_western_text_is_not_taken_for_korean(declared):
    text = "Les pièces à vérifier sont prêtes; l’équipe française a créé un résumé détaillé."

    assert decoded(text.encode("cp1252"), declared=declared) == text


def test_a_broken_character_costs_no_more_than_itself():
    raw = KOREAN.encode() * 10
    broken = raw[:12] + b"\xff" + raw[12:]

    assert decoded(broken, declared="utf-8").replace("\ufffd", "") == KOREAN * 10


@pytest.mark.parametrize("declared", ["utf-7", "unicode_escape", "punycode", "rot13", "\0"])
def test_codecs_that_make_something_else_are_not_used(declared):
    assert decoded(b"a+AGE-\\x41", declared=declared) == "a+AGE-\\x41"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("=?utf-8?B?7IaM66as?= =?utf-8?B?64u0?=", "소리담"),
        ("=?utf-8?B?7IaM66as6w==?= =?utf-8?B?i7Q=?=", "소리담"),
        ("Re: =?EUC-KR?B?vNK4rrTj?= now", "Re: 소리담 now"),
        ("=?utf-8?Q?a_b=3D?= =?us-ascii?Q?c?=", "a b=c"),
        ("=?utf-8*ko?Q?x?=", "x"),
        ("=?utf-8?X?x?= =?utf-8?B?", "=?utf-8?X?x?= =?utf-8?B?"),
        ("=?no-such?B?YWJj?=", "abc"),
    ],
)
def test_encoded_words_are_decoded(field, text):
    assert words(field) == text
