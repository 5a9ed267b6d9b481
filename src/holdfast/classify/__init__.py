"""What an exception means for the job whose handler raised it."""

from holdfast.classify.everywhere import EVERYWHERE, classify, failure_of, usual_verdict
from holdfast.classify.http_status import not_found_yet
from holdfast.classify.libraries import LIBRARIES
from holdfast.classify.provider import ProviderError
from holdfast.classify.public import PublicCode, PublicCodes
from holdfast.classify.refusal import raise_if_refused, refusal_of
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.standard import STANDARD, exit_code_rule
from holdfast.classify.table import is_failure
from holdfast.classify.validation import answer_rules

__all__ = [
    "EVERYWHERE",
    "LIBRARIES",
    "STANDARD",
    "ProviderError",
    "PublicCode",
    "PublicCodes",
    "Rule",
    "Verdict",
    "answer_rules",
    "classify",
    "exit_code_rule",
    "failure_of",
    "is_failure",
    "not_found_yet",
    "raise_if_refused",
    "refusal_of",
    "usual_verdict",
]
