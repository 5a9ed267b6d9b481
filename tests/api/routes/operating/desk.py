"""An API that operators use, with something of everything behind it."""

from contextlib import ExitStack
from typing import Any

from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from holdfast import Breaker, GiveUp, Holdfast, Pipeline, Upstream
from holdfast.api import ApiOptions, create_api
from holdfast.testing import ManualClock, drain
from tests.api.clients import on_loop
from tests.engine.mailbox import BOTH, OPTIONS, Mailbox

NOBODY = "0190aaaa-0000-7000-8000-000000000000"
READY = {"cause": "transient", "evidence": "the gateway answers again"}


class Desk:
    """The API, the application behind it, and whoever comes to it."""

    def __init__(
        self,
        database_url: str,
        *,
        api: dict[str, Any] | None = None,
        locked: bool = True,
        **options: Any,
    ) -> None:
        self.clock = ManualClock()
        self.mailbox = Mailbox(self.clock, BOTH)
        self.down_for: set[int] | None = None
        self.calls: list[int] = []
        given = {"clock": self.clock, "providers": [self.mailbox], "courier": OPTIONS, **options}
        self.app = Holdfast(database_url, pipelines=[self._pipeline()], **given)
        served = ApiOptions(host="127.0.0.1", hosts=("testserver",), **(api or {}))
        self.api = create_api(self.app, options=served)
        self._clients: dict[tuple[str, str | None], TestClient] = {}
        self._closing = ExitStack()
        self._loop = self._closing.enter_context(start_blocking_portal())
        if locked:
            self.token("root")

    def _pipeline(self) -> Pipeline:
        made = Pipeline("p")

        @made.stage(calls=Upstream("gateway", breaker=Breaker()))
        def convert(job, n: int) -> int:
            self.calls.append(n)
            if self.down_for is None or n in self.down_for:
                raise GiveUp("GATEWAY_DOWN", f"no answer for {n}")
            return n

        return made

    def token(self, name: str, *, role: str = "operator", owner: str | None = None) -> str:
        return self.app.tokens.create(name, role=role, owner=owner, by="test")[1]

    def visitor(self, secret: str | None) -> TestClient:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        made = TestClient(
            self.api, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000), headers=headers
        )
        return on_loop(made, self._loop)

    def __call__(self, role: str = "operator", owner: str | None = None) -> TestClient:
        """Whoever has that role, and sees the rows of that owner; None for every owner's."""
        if (role, owner) not in self._clients:
            name = f"{role} of {owner or 'all'}"
            self._clients[role, owner] = self.visitor(self.token(name, role=role, owner=owner))
        return self._clients[role, owner]

    def dead(self, *numbers: int, owner: str = "default", keys: bool = True) -> list[str]:
        """Jobs that died while the gateway was down; it is up afterwards."""
        self.down_for = None
        ids = [
            self.app.submit("p", {"n": n}, key=f"k-{n}" if keys else None, owner=owner).id
            for n in numbers
        ]
        drain(self.app)
        self.down_for = set()
        self.calls.clear()
        return ids

    def delivery(self, *, subject: str = "review-1", to: str = "jane@example.test") -> str:
        (view,) = self.app.deliver(subject, recipients=[to], message={"text": "hello"})
        return view.id

    def close(self) -> None:
        self._closing.close()
        self.api.state.replays.stop()
        self.app.close()
