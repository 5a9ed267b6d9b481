"""Secrets taken out of texts and values before anything is stored, logged or shown."""

from holdfast.redaction.patterns.looks import is_maskable
from holdfast.redaction.patterns.personal import MaskedRecipient, mask_recipient
from holdfast.redaction.redactor import MAX_TEXT_LENGTH, Redactor
from holdfast.redaction.sources import secrets_in_environment, secrets_in_url

__all__ = [
    "MAX_TEXT_LENGTH",
    "MaskedRecipient",
    "Redactor",
    "is_maskable",
    "mask_recipient",
    "secrets_in_environment",
    "secrets_in_url",
]
