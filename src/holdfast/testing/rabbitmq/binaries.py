"""Where the RabbitMQ programs come from when no broker was given.

Programs installed on the machine, and as a last resort Debian's package; see `debian_package`. The
scripts that Debian puts on the path are left alone: they change user and directory, and are made
for the machine's own broker.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import UnavailableError
from holdfast.testing.servers.debian_package import install, why_not_install

_PROGRAMS = ("rabbitmq-server", "rabbitmqctl")
_PLACES = (Path("/usr/lib/rabbitmq/bin"), Path("/opt/rabbitmq/sbin"), Path("/usr/local/sbin"))


def find_binaries(*, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory with `rabbitmq-server` and `rabbitmqctl`."""
    found = _installed()
    if found is not None:
        return found
    reason = why_not_install(environment)
    if reason is None:
        install("rabbitmq-server", environment=environment)
        found = _installed()
        if found is not None:
            return found
        reason = "Debian's package has other programs than expected"
    raise UnavailableError(
        f"no RabbitMQ to test with: none is installed; {reason}. Install rabbitmq-server, or set "
        "HOLDFAST_TEST_AMQP_URL to a broker where queues may be declared"
    )


def _installed() -> Path | None:
    return next((place for place in _PLACES if _has_programs(place)), None)


def _has_programs(place: Path) -> bool:
    return all(os.access(place / program, os.X_OK) for program in _PROGRAMS)
