"""The companies and people that the sample mailbox is about; all of them are made up."""

from __future__ import annotations

from typing import Final, NamedTuple


class SampleCompany(NamedTuple):
    """A row of the companies' database."""

    name: str
    is_portfolio: bool = False
    is_affiliate: bool = False


COMPANIES: Final = (
    SampleCompany("소리담", is_portfolio=True),
    SampleCompany("나무결", is_portfolio=True),
    SampleCompany("무지개랩", is_portfolio=True),
    SampleCompany("다온로보틱스", is_portfolio=True),
    SampleCompany("하루팜", is_portfolio=True),
    SampleCompany("한빛소프트랩", is_portfolio=True),
    SampleCompany("한빛소프트웍", is_portfolio=True),
    SampleCompany("Brightfold", is_portfolio=True),
    SampleCompany("Quietmeter", is_portfolio=True),
    SampleCompany("Lumenkit", is_portfolio=True),
    SampleCompany("서하백화점", is_affiliate=True),
    SampleCompany("해담푸드", is_affiliate=True),
    SampleCompany("온들마트", is_affiliate=True),
    SampleCompany("Orchard Retail", is_affiliate=True),
    SampleCompany("Harbor Logistics"),
    SampleCompany("푸른은행"),
)
PEOPLE: Final = ("김도윤", "이서연", "박하준", "최예린", "Emma Clarke", "Jisoo Han", "David Okafor")
