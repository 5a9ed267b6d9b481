"""Names in mails, matched with the companies and people that there are."""

from collabiq.match.names import Candidate, Match, NameIndex, company_index, person_index

__all__ = ["Candidate", "Match", "NameIndex", "company_index", "person_index"]
