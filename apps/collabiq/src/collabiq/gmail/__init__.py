"""Gmail: which mails are new, and their bytes."""

from collabiq.gmail.client import GmailApi, Page, Profile, RawMessage
from collabiq.gmail.credentials import GmailCredentials
from collabiq.gmail.errors import (
    GmailFailure,
    GmailForbidden,
    GmailInvalid,
    GmailNotFound,
    GmailRateLimited,
    GmailUnauthorized,
    GmailUnavailable,
    GrantRevoked,
    InvalidCredentials,
)
from collabiq.gmail.sync import Cursor, Synced, default_query, sync
from collabiq.gmail.token_file import TokenFile, UserCredentials, credentials_of

__all__ = [
    "Cursor",
    "GmailApi",
    "GmailCredentials",
    "GmailFailure",
    "GmailForbidden",
    "GmailInvalid",
    "GmailNotFound",
    "GmailRateLimited",
    "GmailUnauthorized",
    "GmailUnavailable",
    "GrantRevoked",
    "InvalidCredentials",
    "Page",
    "Profile",
    "RawMessage",
    "Synced",
    "TokenFile",
    "UserCredentials",
    "credentials_of",
    "default_query",
    "sync",
]
