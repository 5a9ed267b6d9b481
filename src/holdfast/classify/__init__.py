"""What an exception means for the job whose handler raised it."""

from holdfast.classify.standard import STANDARD, classify, exit_code_rule
from holdfast.classify.table import Rule, Verdict, is_failure

__all__ = ["STANDARD", "Rule", "Verdict", "classify", "exit_code_rule", "is_failure"]
