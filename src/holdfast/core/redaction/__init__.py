"""Secrets taken out of texts and values before anything is stored, logged or shown."""

from holdfast.core.redaction.looks import is_maskable
from holdfast.core.redaction.personal import MaskedRecipient, mask_recipient
from holdfast.core.redaction.redactor import MAX_TEXT_LENGTH, Redactor
from holdfast.core.redaction.sources import secrets_in_environment, secrets_in_url

__all__ = [
    "MAX_TEXT_LENGTH",
    "MaskedRecipient",
    "Redactor",
    "is_maskable",
    "mask_recipient",
    "secrets_in_environment",
    "secrets_in_url",
]
