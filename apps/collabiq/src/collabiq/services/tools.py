"""Clients of the services: made when they are first needed, and anew when a secret changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from collabiq.gmail.client import GmailApi
from collabiq.gmail.credentials import GmailCredentials
from collabiq.gmail.token_file import TokenFile
from collabiq.notion.client import NotionApi
from collabiq.records.retry_configs import (
    GEMINI_RETRY_CONFIG,
    GMAIL_RETRY_CONFIG,
    NOTION_RETRY_CONFIG,
)
from collabiq.services.upstreams import fallback_guard
from collabiq.settings.config import Config
from holdfast.classify import Category, Verdict
from holdfast.secrets import SecretUnavailable

if TYPE_CHECKING:
    from collabiq.extract.gemini import GeminiExtractor
    from collabiq.settings.system_secrets import SystemSecrets

GEMINI_KEY: Final = "GEMINI_API_KEY"
NOTION_KEY: Final = "NOTION_API_KEY"
GMAIL_TOKEN: Final = "GMAIL_TOKEN"  # noqa: S105 - a name
ROWS_DATABASE: Final = "NOTION_DATABASE_ID_COLLABIQ"
COMPANIES_DATABASE: Final = "NOTION_DATABASE_ID_COMPANIES"
ENCRYPTION_KEY: Final = "GMAIL_ENCRYPTION_KEY"
_MISSING: Final = Verdict("AUTH_DENIED", retryable=False, category=Category.CRITICAL)


class Tools:
    """What calls the services, for any number of threads."""

    def __init__(
        self, config: Config, secrets: SystemSecrets, *, now: Callable[[], datetime]
    ) -> None:
        self._config, self.secrets, self._now = config, secrets, now
        self.gemini_guard = fallback_guard(config)
        """What stands before Gemini where rules take its place; its breaker is this process's."""
        self._lock = threading.Lock()
        self._gmail: GmailApi | None = None
        self._credentials: GmailCredentials | None = None
        self._notion: tuple[str, NotionApi] | None = None
        self._gemini: tuple[str, GeminiExtractor] | None = None
        self._replaced: list[NotionApi | GeminiExtractor] = []
        """Clients of keys that are no longer in force; calls of theirs may be under way."""

    def secret(self, name: str) -> str:
        """Return a secret; raises `SecretUnavailable` where it is found nowhere."""
        found = self.secrets.found(name)
        if found is None:
            raise SecretUnavailable(_MISSING, f"the secret {name} is found nowhere; set it")
        return found.value

    def maybe_secret(self, name: str) -> str | None:
        """Return a secret, or None."""
        found = self.secrets.found(name)
        return None if found is None else found.value

    def replaced(self, name: str, *, refused: str) -> bool:
        """Return whether there is another value than one that was refused."""
        return self.secrets.provider.renewed(name, refused=refused) is not None

    def credentials(self) -> GmailCredentials:
        """Return where tokens for Gmail come from."""
        with self._lock:
            if self._credentials is None:
                path = self._config.gmail_token_path
                key = self.maybe_secret(ENCRYPTION_KEY)
                self._credentials = GmailCredentials(
                    file=None if path is None else TokenFile(path, key=key),
                    initial=lambda: self.maybe_secret(GMAIL_TOKEN),
                    token_uri=self._config.gmail_token_uri,
                    timeout_s=GMAIL_RETRY_CONFIG.timeout,
                )
            return self._credentials

    def gmail(self) -> GmailApi:
        """Return the mailbox."""
        credentials = self.credentials()
        with self._lock:
            if self._gmail is None:
                self._gmail = GmailApi(
                    credentials,
                    now=self._now,
                    base_url=self._config.gmail_api_url,
                    timeout_s=GMAIL_RETRY_CONFIG.timeout,
                )
            return self._gmail

    def notion(self) -> tuple[NotionApi, str]:
        """Return the workspace, and the key that it is called with."""
        key = self.secret(NOTION_KEY)
        with self._lock:
            if self._notion is None or self._notion[0] != key:
                api = NotionApi(
                    key,
                    base_url=self._config.notion_api_url,
                    timeout_s=NOTION_RETRY_CONFIG.timeout,
                )
                self._replaced += [] if self._notion is None else [self._notion[1]]
                self._notion = (key, api)
            return self._notion[1], key

    def gemini(self) -> tuple[GeminiExtractor, str]:
        """Return the model, and the key that it is called with."""
        from collabiq.extract.gemini import (  # noqa: PLC0415 - its SDK takes seconds to import
            GeminiExtractor,
        )

        key = self.secret(GEMINI_KEY)
        config = self._config
        with self._lock:
            if self._gemini is None or self._gemini[0] != key:
                made = GeminiExtractor(
                    key,
                    model=config.gemini_model,
                    base_url=config.gemini_api_url,
                    timeout_s=GEMINI_RETRY_CONFIG.timeout,
                    usd_per_million=config.gemini_usd_per_million,
                )
                self._replaced += [] if self._gemini is None else [self._gemini[1]]
                self._gemini = (key, made)
            return self._gemini[1], key

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._gmail is not None:
                self._gmail.close()
            if self._notion is not None:
                self._notion[1].close()
            if self._gemini is not None:
                self._gemini[1].close()
            for each in self._replaced:
                each.close()
            self._replaced.clear()
            self._gmail = self._notion = self._gemini = None
