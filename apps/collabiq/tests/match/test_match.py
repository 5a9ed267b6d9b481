import time

import pytest

from collabiq.match import company_index, person_index
from collabiq.samples import COMPANIES, PEOPLE

COMPANY_NAMES = [(f"c{number}", each.name) for number, each in enumerate(COMPANIES)]
PEOPLE_NAMES = [(f"p{number}", name) for number, name in enumerate(PEOPLE)]


def company(name):
    return company_index(COMPANY_NAMES).match(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("소리담", "소리담"),
        ("(주)소리담", "소리담"),
        ("주식회사 소리담", "소리담"),
        ("BRIGHTFOLD", "Brightfold"),
        ("Brightfold, Inc.", "Brightfold"),
        ("Brigthfold", "Brightfold"),
        ("Orchard Retial", "Orchard Retail"),
        ("Orchard-Retail Co., Ltd.", "Orchard Retail"),
        ("Ｌｕｍｅｎｋｉｔ", "Lumenkit"),
    ],
)
def test_a_company_is_found_by_its_name_or_nearly(name, found):
    match = company(name)

    assert match.found is not None
    assert match.found.name == found
    assert match.found.score >= 0.85
    assert match.sure


@pytest.mark.parametrize("name", ["Mossgarden", "소리", "Bright", "x", "푸른"])
def test_a_company_that_fits_too_little_is_not_found(name):
    match = company(name)

    assert (match.found, match.ambiguous, match.sure) == (None, False, False)


def test_a_name_that_fits_two_is_ambiguous_and_shows_both():
    match = company("한빛소프트")

    assert (match.found, match.ambiguous) == (None, True)
    assert {each.name for each in match.alternatives[:2]} == {"한빛소프트랩", "한빛소프트웍"}


def test_the_very_name_has_no_rival():
    assert company("한빛소프트랩").found.name == "한빛소프트랩"


def test_two_companies_of_one_name_are_ambiguous():
    match = company_index([("a", "소리담"), ("b", "(주)소리담")]).match("소리담")

    assert (match.found, match.ambiguous) == (None, True)


@pytest.mark.parametrize("name", [None, "", "  ", "\u200b", "!!!"])
def test_no_name_means_nobody(name):
    match = company(name)

    assert (match.found, list(match.alternatives)) == (None, [])


@pytest.mark.parametrize(
    ("name", "found", "sure"),
    [
        ("김도윤", "김도윤", True),
        ("김도윤 매니저님", "김도윤", True),
        ("emma clarke", "Emma Clarke", True),
        ("Emma Clark", "Emma Clarke", True),
        ("David Okafo Jr", "David Okafor", True),
        ("E. Clarke", "Emma Clarke", False),
    ],
)
def test_a_person_is_found_and_looked_at_when_the_name_differs(name, found, sure):
    match = person_index(PEOPLE_NAMES).match(name)

    assert match.found is not None
    assert (match.found.name, match.sure) == (found, sure)


def test_a_person_below_the_threshold_is_not_found():
    assert person_index(PEOPLE_NAMES).match("김민수").found is None


def test_5000_companies_are_matched_within_50_ms():
    index = company_index((str(number), f"회사 {number:04} 소프트랩") for number in range(5_000))
    taken = []
    for _ in range(3):
        begun = time.process_time()
        index.match("회사 4999 소프트렙")
        taken.append(time.process_time() - begun)

    assert min(taken) < 0.05
