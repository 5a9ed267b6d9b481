"""The tables of the libraries, composed in the one order in which they are right.

By module and shape, never by import: none of these libraries need be installed. Each table keeps
its own classes apart, so that their order matters only inside each; the rows for built-in classes
follow after all of them, because what a library raises is often an `OSError` or a `ValueError` too.
"""

from __future__ import annotations

from typing import Final

from holdfast.classify.callback import CALLBACK
from holdfast.classify.databases.asyncpg import ASYNCPG
from holdfast.classify.databases.psycopg import PSYCOPG
from holdfast.classify.databases.sqlite import SQLITE
from holdfast.classify.documents import DOCUMENTS
from holdfast.classify.http.aiohttp import AIOHTTP
from holdfast.classify.http.httpx import HTTPX
from holdfast.classify.http.requests import REQUESTS
from holdfast.classify.http.urllib import URLLIB
from holdfast.classify.provider import PROVIDER
from holdfast.classify.rule import Rule
from holdfast.classify.services.amqp import AMQP
from holdfast.classify.services.google import GOOGLE
from holdfast.classify.services.grpc import GRPC
from holdfast.classify.services.infisical import INFISICAL
from holdfast.classify.services.notion import NOTION
from holdfast.classify.services.openai_anthropic import OPENAI_ANTHROPIC
from holdfast.classify.services.resend import RESEND
from holdfast.classify.services.smtp import SMTP
from holdfast.classify.validation import VALIDATION

LIBRARIES: Final[tuple[Rule, ...]] = (
    *PROVIDER,
    *CALLBACK,
    *HTTPX,
    *REQUESTS,
    *AIOHTTP,
    *URLLIB,
    *OPENAI_ANTHROPIC,
    *GOOGLE,
    *NOTION,
    *INFISICAL,
    *RESEND,
    *GRPC,
    *SMTP,
    *AMQP,
    *PSYCOPG,
    *ASYNCPG,
    *SQLITE,
    *DOCUMENTS,
    # After those whose classes derive from theirs.
    *VALIDATION,
)
