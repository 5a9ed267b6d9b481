"""Mails: read from their bytes, and cut down to what they say themselves."""

from collabiq.mail.automatic import OWN_HEADER
from collabiq.mail.clean import Cleaned, Removed, clean, language_of
from collabiq.mail.headers import Address
from collabiq.mail.message import Attachment, Authentication, Mail, MailTooLarge, NotAMail
from collabiq.mail.parse import MAX_MAIL_BYTES, parse_mail

__all__ = [
    "MAX_MAIL_BYTES",
    "OWN_HEADER",
    "Address",
    "Attachment",
    "Authentication",
    "Cleaned",
    "Mail",
    "MailTooLarge",
    "NotAMail",
    "Removed",
    "clean",
    "language_of",
    "parse_mail",
]
