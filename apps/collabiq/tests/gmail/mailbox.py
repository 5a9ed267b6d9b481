"""A mailbox as the tests find it: the stand-in behind Google's own client."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collabiq.gmail import GmailApi, GmailCredentials, TokenFile
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.serving import Serving

NOW = datetime(2025, 11, 3, 12, tzinfo=UTC)


class Mailbox:
    def __init__(self, stand_in: GmailStandIn, serving: Serving, folder: Path) -> None:
        self.stand_in, self.serving = stand_in, serving
        # Google's library tells the age of a token by the real clock.
        self.now = datetime.now(UTC)
        self.apis: list[GmailApi] = []
        self.path = folder / "token.json"
        self.secret: str | None = json.dumps(stand_in.credentials(serving.url))

    def credentials(self, **given) -> GmailCredentials:
        key = given.pop("key", None)
        usual = {"file": TokenFile(self.path, key=key), "initial": lambda: self.secret}
        return GmailCredentials(**(usual | given))

    def api(self, credentials: GmailCredentials | None = None, **given) -> GmailApi:
        made = GmailApi(
            credentials or self.credentials(),
            now=lambda: self.now,
            base_url=self.serving.url,
            **given,
        )
        self.apis.append(made)
        return made

    def close(self) -> None:
        for each in self.apis:
            each.close()

    def later(self, **delta) -> None:
        self.now += timedelta(**delta)
