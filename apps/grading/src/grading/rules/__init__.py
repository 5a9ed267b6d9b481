"""The offline grader: rules that find evidence without a model."""

from grading.rules.grade import NAME, RulesAssessor, evidence_by_rules

__all__ = ["NAME", "RulesAssessor", "evidence_by_rules"]
