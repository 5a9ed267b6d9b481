"""What an exception means for the job whose handler raised it."""

from holdfast.classify.callback import CallbackFailure
from holdfast.classify.everywhere import EVERYWHERE, classify, failure_of, usual_verdict
from holdfast.classify.http.status import not_found_yet
from holdfast.classify.libraries import LIBRARIES
from holdfast.classify.provider import ProviderError, QuotaExceeded
from holdfast.classify.public import PublicCode, PublicCodes
from holdfast.classify.refusal import raise_if_refused, refusal_of
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.standard import STANDARD, exit_code_rule
from holdfast.classify.table import is_failure
from holdfast.classify.validation import answer_rules
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.quota import Window

__all__ = [
    "EVERYWHERE",
    "LIBRARIES",
    "STANDARD",
    "CallbackFailure",
    "Category",
    "Failure",
    "ProviderError",
    "PublicCode",
    "PublicCodes",
    "QuotaExceeded",
    "Rule",
    "Verdict",
    "Window",
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
