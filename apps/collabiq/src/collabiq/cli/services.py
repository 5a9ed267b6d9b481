"""The services that a command calls, with the settings and secrets of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from collabiq.gmail.credentials import GmailCredentials
from collabiq.gmail.token_file import TokenFile
from collabiq.notion.client import NotionApi
from collabiq.notion.errors import NotionRateLimited
from collabiq.secrets import Found, InfisicalFailure, MissingSecrets, env_file_values
from collabiq.settings.config import Config
from collabiq.settings.system_secrets import SystemSecrets
from holdfast.variables import Variables

if TYPE_CHECKING:
    from collabiq.extract.gemini import GeminiExtractor
    from collabiq.gmail.client import GmailApi

NOTION_KEY: Final = "NOTION_API_KEY"
ROWS: Final = "NOTION_DATABASE_ID_COLLABIQ"
COMPANIES: Final = "NOTION_DATABASE_ID_COMPANIES"
_TRIES: Final = 4
_PAUSE_S: Final = 1.0
_MAX_PAUSE_S: Final = 30.0

T = TypeVar("T")


class Services:
    """Settings and secrets of this process, and clients that use them."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ if environment is None else environment
        self.variables = Variables(self.environment, system="collabiq")
        self.config = Config.read(self.variables)
        self.secrets = SystemSecrets(self.config, self.variables)

    @property
    def outage(self) -> InfisicalFailure | None:
        """The last failure of Infisical, or None where it returned its secrets."""
        return self.secrets.last_failure

    def secret(self, name: str) -> str:
        """Return the value of a secret; raises `MissingSecrets`."""
        found = self.found(name)
        if found is None:
            raise MissingSecrets([name])
        return found.value

    def found(self, name: str) -> Found | None:
        """Return a secret and where it was found, or None."""
        return self.secrets.found(name)

    @contextmanager
    def notion(self) -> Iterator[NotionApi]:
        """Open the workspace."""
        api = NotionApi(self.secret(NOTION_KEY), base_url=self.config.notion_api_url)
        try:
            yield api
        finally:
            api.close()

    @contextmanager
    def gmail(self) -> Iterator[tuple[GmailApi, GmailCredentials]]:
        """Open the mailbox."""
        from collabiq.gmail.client import GmailApi  # noqa: PLC0415 - Google's SDK is slow to import

        config = self.config
        key = self.found("GMAIL_ENCRYPTION_KEY")
        file = (
            TokenFile(config.gmail_token_path, key=key.value if key else None)
            if config.gmail_token_path
            else None
        )
        credentials = GmailCredentials(
            file=file,
            initial=lambda: _value(self.found("GMAIL_TOKEN")),
            token_uri=config.gmail_token_uri,
        )
        api = GmailApi(credentials, now=now, base_url=config.gmail_api_url)
        try:
            yield api, credentials
        finally:
            api.close()

    @contextmanager
    def gemini(self) -> Iterator[GeminiExtractor]:
        """Open the model."""
        from collabiq.extract.gemini import GeminiExtractor  # noqa: PLC0415 - as above

        config = self.config
        extractor = GeminiExtractor(
            self.secret("GEMINI_API_KEY"),
            model=config.gemini_model,
            base_url=config.gemini_api_url,
            usd_per_million=config.gemini_usd_per_million,
        )
        try:
            yield extractor
        finally:
            extractor.close()


def within_limits(call: Callable[[], T]) -> T:
    """Return what a call of Notion returns, waiting as long as Notion says that it should."""
    for left in range(_TRIES - 1, -1, -1):
        try:
            return call()
        except NotionRateLimited as error:
            if left == 0:
                raise
            time.sleep(min(error.retry_after_s or _PAUSE_S, _MAX_PAUSE_S))
    raise AssertionError(_TRIES)


def now() -> datetime:
    """Return the instant of the wall clock: there is no store whose clock could be used."""
    return datetime.now(UTC)  # noqa: TID251 - as it says


def env_file_problem(own: Services) -> str | None:
    """Return what is wrong with the file of variables that was named, or None."""
    file, named = own.config.env_file, own.variables.readings.get("ENV_FILE")
    if file is None or named is None or named.variable is None:
        return None
    if not file.is_file():
        return f"ENV_FILE names {file}, and there is no such file"
    return None if env_file_values(file) else f"ENV_FILE names {file}, which has no variables"


def _value(found: Found | None) -> str | None:
    return None if found is None else found.value
