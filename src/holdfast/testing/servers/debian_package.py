"""Installing a server's programs from Debian, as a last resort.

Only root may, and only when the environment allows it (`CI=true` or `HOLDFAST_MAY_INSTALL=1`). No
server is started by the installation, and no setting of the machine is changed for longer.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from holdfast.errors import UnavailableError

_POLICY = Path("/usr/sbin/policy-rc.d")
_START_NOTHING = "#!/bin/sh\nexit 101\n"


def why_not_install(environment: Mapping[str, str]) -> str | None:
    """Return the reason why nothing may be installed here, or None."""
    allowed = environment.get("CI") == "true" or environment.get("HOLDFAST_MAY_INSTALL") == "1"
    if not allowed:
        return "installing Debian's package was not allowed (HOLDFAST_MAY_INSTALL=1 allows it)"
    if os.geteuid() != 0:
        return "installing Debian's package takes root"
    if shutil.which("apt-get") is None:
        return "there is no apt-get to install Debian's package with"
    return None


def install(
    package: str, *, environment: Mapping[str, str], settings: Mapping[Path, str] | None = None
) -> None:
    """Installs `package`; `settings` are files as they are to be during the installation."""
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    with ExitStack() as stack:
        stack.enter_context(_replaced(_POLICY, text=_START_NOTHING, mode=0o755))
        for path, text in (settings or {}).items():
            stack.enter_context(_replaced(path, text=text, mode=0o644))
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", package]):
            done = subprocess.run(
                ["apt-get", "-q", *arguments],  # noqa: S607 - apt-get is where the system has it
                env=quiet,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise UnavailableError(f"apt-get {arguments[0]} failed: {done.stderr[-2000:]}")


@contextmanager
def _replaced(path: Path, *, text: str, mode: int) -> Iterator[None]:
    """`path` holds `text` inside the block and afterwards what it held before."""
    before = (path.read_bytes(), path.stat().st_mode) if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    try:
        yield
    finally:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before[0])
            path.chmod(before[1])
