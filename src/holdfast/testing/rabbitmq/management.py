"""A broker's account of itself, as its management plugin gives it over HTTP."""

import base64
import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from holdfast.errors import UnavailableError
from holdfast.testing.servers.ports import LOOPBACK

PLUGIN = "rabbitmq_management"
_ANSWER_LIMIT_S = 10.0
_OK = 200


def comes_with(binaries: Path) -> bool:
    """Return whether the broker that the programs belong to was installed with the plugin."""
    plugins = (binaries / "rabbitmq-server").resolve().parent.parent / "plugins"
    return any(plugins.glob(f"{PLUGIN}-[0-9v]*"))


class Management:
    """Asks the plugin of one broker; it is up some time after the broker is."""

    def __init__(self, port: int, *, user: str, password: str) -> None:
        self._port = port
        secret = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {secret}"}

    def consumers(self) -> list[dict[str, Any]]:
        """Who consumes: `queue_name`, `consumer_tag` and more; it lags by a second or two."""
        return [{**line, "queue_name": line["queue"]["name"]} for line in self._get("consumers")]

    def _get(self, what: str) -> Any:  # noqa: ANN401 - as the API documents it
        connection = HTTPConnection(LOOPBACK, self._port, timeout=_ANSWER_LIMIT_S)
        try:
            connection.request("GET", f"/api/{what}", headers=self._headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, HTTPException) as error:
            raise UnavailableError(f"the management API does not answer: {error}") from error
        finally:
            connection.close()
        if answer.status != _OK:
            raise UnavailableError(f"the management API answered {answer.status} about {what}")
        return json.loads(body)
